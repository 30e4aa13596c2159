"""Turns a service and its tasks into an observation, without calls to the engine.

A Swarm creates a new task for each run of an agent, and keeps the last few that have ended. The state of a task is what
its node last reported; if the node does not report, the state is unknown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from containers.agent_reports import parse_time
from containers.agent_text import clean
from containers.docker_api.answers import read_labels, read_text
from containers.docker_api.errors import understand_answer
from containers.swarm.nodes.nodes import ENDED
from containers.swarm.tasks.service_spec import CRASHES_LABEL, HELD, IMAGE_LABEL, OWN_LABELS
from containers.vocabulary import QUARANTINE_LABEL, ContainerState, Observation

UNPLACED = frozenset({"new", "pending"})
"""The states of tasks that have no node yet."""

BY_THEMSELVES = frozenset({"complete", "failed", "rejected", "orphaned"})


class Run(NamedTuple):
    """A task. `exit_code` is None if the engine has not said how it ended; `container` is its container on the node.

    `grace` is how many seconds it has to stop.
    """

    task_id: str
    state: str
    is_wanted: bool
    node: str
    made_at: datetime | None
    said_at: datetime | None
    error: str
    container: str
    exit_code: int | None
    grace: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def may_live(self) -> bool:
        """Whether a process of the task may be alive."""
        return not self.has_ended and self.state not in UNPLACED

    @property
    def has_run(self) -> bool:
        """Whether a container was created for it, whose log can be read."""
        return bool(self.container)

    @property
    def ended_by_itself(self) -> bool:
        """Whether the task ended without being stopped."""
        return self.state in BY_THEMSELVES


class Service(NamedTuple):
    """A service of an agent and its tasks, newest first."""

    service_id: str
    version: int
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    made_at: datetime | None
    runs: Sequence[Run] = ()

    @property
    def name(self) -> str:
        return str(self.spec["Name"])

    @property
    def generation(self) -> int:
        return generation_of(self.labels)

    @property
    def counted(self) -> tuple[int, datetime | None]:
        """Returns the number of crashes in its label, and the creation time of the last task included."""
        count, _, until = self.labels.get(CRASHES_LABEL, "").partition("@")
        return (int(count), parse_time(until)) if count.isdecimal() and len(count) < 9 else (0, None)

    @property
    def uncounted(self) -> "list[Run]":
        """Returns the later runs that ended by themselves, newest first."""
        until = self.counted[1]
        ended = [run for run in self.runs if run.has_run and run.ended_by_itself and run.made_at]
        return [run for run in ended if until is None or (run.made_at is not None and run.made_at > until)]

    @property
    def crashes(self) -> int:
        return self.counted[0] + len(self.uncounted)

    @property
    def has_credentials(self) -> bool:
        return bool((self.spec["TaskTemplate"].get("ContainerSpec") or {}).get("Secrets"))

    @property
    def is_wanted(self) -> bool:
        """Whether a task of it should run."""
        constraints = (self.spec["TaskTemplate"].get("Placement") or {}).get("Constraints") or []
        replicas = ((self.spec.get("Mode") or {}).get("Replicated") or {}).get("Replicas", 1)  # or somebody changed it
        return bool(replicas) and HELD not in constraints


def generation_of(labels: Mapping[str, str]) -> int:
    """Returns the number of the deploy that created the object with these labels."""
    return Observation(name="", container_id="", labels=labels, state=ContainerState.CREATED).generation


def read_service(row: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]] = ()) -> Service:
    """Reads the answer of GET /services/{id} and the rows of its tasks."""
    with understand_answer():
        runs = sorted((read_run(task) for task in tasks), key=_age, reverse=True)
        # Unreadable values fail here, not in the properties that use them.
        read_text(row["Spec"]["Name"])
        row["Spec"]["TaskTemplate"].get("Placement")
        return Service(
            service_id=str(row["ID"]),
            version=int(row["Version"]["Index"]),
            spec=dict(row["Spec"]),
            labels=read_labels(row["Spec"].get("Labels")),
            made_at=parse_time(row["CreatedAt"]),
            runs=runs,
        )


def read_run(task: Mapping[str, Any]) -> Run:
    status = task["Status"]
    container = status.get("ContainerStatus") or {}
    ended = status["State"] in ENDED
    return Run(
        task_id=str(task["ID"]),
        state=str(status["State"]),
        is_wanted=task["DesiredState"] in {"running", "ready", "accepted"},
        node=str(task.get("NodeID") or ""),
        made_at=parse_time(task["CreatedAt"]),
        said_at=parse_time(status["Timestamp"]),
        error=clean(str(status.get("Err") or "")),
        container=str(container.get("ContainerID") or ""),
        exit_code=int(container.get("ExitCode") or 0) if ended and container.get("ContainerID") else None,
        grace=int(((task.get("Spec") or {}).get("ContainerSpec") or {}).get("StopGracePeriod") or 0) / 1e9,
    )


def _age(run: Run) -> tuple[float, str]:
    return (run.made_at.timestamp() if run.made_at else 0.0, run.task_id)


def observe(service: Service, *, lost: Collection[str] = ()) -> Observation:
    """Returns the service as one container. `lost` are nodes not known to be alive, whose tasks' state is unknown.

    An agent that should run but does not is `restarting`: its task waits for a node, or for its start. It is `running`
    as long as its node says so, even while it ends.
    """
    seen = Observation(
        name=service.name,
        container_id=service.service_id,
        labels={label: text for label, text in service.labels.items() if label not in OWN_LABELS},
        state=ContainerState.CREATED,
        created_at=service.made_at,
        image_id=service.labels.get(IMAGE_LABEL, ""),
        restart_count=service.crashes,
        oom_killed=False,
    )
    return _with_state(seen, service, lost)


def _with_state(seen: Observation, service: Service, lost: Collection[str]) -> Observation:
    living = [run for run in service.runs if run.may_live]
    up = next((run for run in living if run.state == "running" and run.node not in lost), None)
    ended = next((run for run in service.runs if run.has_ended and run.has_run), None)
    finished_at, exit_code = (ended.said_at, ended.exit_code) if ended else (None, None)
    if up is not None:
        began = up.said_at
        return replace(seen, state=ContainerState.RUNNING, node=up.node, started_at=began, finished_at=finished_at)
    if any(run.node in lost for run in living) and not (service.is_wanted and _is_replaced(service, lost)):
        return replace(seen, state=ContainerState.RUNNING, is_silent=True)
    if service.is_wanted:
        return replace(seen, state=ContainerState.RESTARTING, exit_code=exit_code, finished_at=finished_at)
    if living:
        return replace(seen, state=ContainerState.RUNNING, node=living[0].node)
    if ended is None or QUARANTINE_LABEL in service.labels:
        return seen  # in quarantine nothing of the agent is left but what it keeps
    past = replace(seen, exit_code=exit_code, finished_at=finished_at, started_at=ended.made_at)
    return replace(past, state=ContainerState.EXITED, node=ended.node)


def _is_replaced(service: Service, lost: Collection[str]) -> bool:
    """Whether the Swarm has given up the tasks on lost nodes and wants another one to run."""
    return any(run.is_wanted and run.node not in lost for run in service.runs)
