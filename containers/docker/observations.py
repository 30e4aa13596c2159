"""What Docker says of containers, as observations. Pure: no call is made here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from containers.agent_reports import parse_report, parse_time
from containers.docker_api.errors import understand_answer
from containers.engine import AgentReport, ContainerState, Health, Observation

_HEALTH_WORDS = {
    "(healthy)": Health.HEALTHY,
    "(unhealthy)": Health.UNHEALTHY,
    "(health: starting)": Health.STARTING,
}
_SCHEDULING = timedelta(milliseconds=90)
"""Docker notes the start a little after the process has begun; its shortest pause between two runs is 100 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """An inspected container: the observation but for its report, and what helps to find that."""

    observation: Observation
    run_began: datetime | None
    probed: tuple[datetime, AgentReport] | None


def read_details(answer: Mapping[str, Any]) -> Details:
    """The answer of GET /containers/{id}/json."""
    with understand_answer():
        state = answer["State"]
        status = ContainerState(state["Status"])
        started, finished = parse_time(state["StartedAt"]), parse_time(state["FinishedAt"])
        began = _run_began(started, finished)
        return Details(
            observation=Observation(
                name=answer["Name"].removeprefix("/"),
                container_id=answer["Id"],
                labels=dict(answer["Config"]["Labels"] or {}),
                state=status,
                health=_health(state.get("Health")),
                exit_code=state["ExitCode"] if _has_exited(status) else None,
                oom_killed=bool(state["OOMKilled"]),
                restart_count=int(answer["RestartCount"]),
                created_at=parse_time(answer["Created"]),
                started_at=started,
                finished_at=finished,
            ),
            run_began=began,
            probed=_probed(state.get("Health"), began),
        )


def read_rows(answer: object) -> list[Observation]:
    """The answer of GET /containers/json: only what a list call says. Anything but a list is no answer."""
    with understand_answer():
        if not isinstance(answer, list):
            raise TypeError
        return [_read_row(row) for row in answer]


def read_volumes(answer: Mapping[str, Any]) -> dict[str, datetime]:
    """The answer of GET /volumes: whose they are, and the time of the older one."""
    kept: dict[str, datetime] = {}
    with understand_answer():
        for volume in answer["Volumes"] or []:
            name, since = volume["Name"].rpartition("-")[0], parse_time(volume["CreatedAt"])
            if since is not None:
                kept[name] = min(since, kept.get(name, since))
    return kept


def _read_row(row: Mapping[str, Any]) -> Observation:
    said = row["Status"]
    return Observation(
        name=row["Names"][0].removeprefix("/"),
        container_id=row["Id"],
        labels=dict(row["Labels"] or {}),
        state=ContainerState(row["State"]),
        health=next((verdict for word, verdict in _HEALTH_WORDS.items() if said.endswith(word)), Health.NONE),
        created_at=datetime.fromtimestamp(row["Created"], UTC),
    )


def is_plain(row: Observation) -> bool:
    """Whether a list call already says all there is to say."""
    return row.state is ContainerState.RUNNING and row.health is Health.HEALTHY


def _has_exited(state: ContainerState) -> bool:
    return state in {ContainerState.EXITED, ContainerState.DEAD, ContainerState.RESTARTING}


def _health(said: Mapping[str, Any] | None) -> Health:
    return Health(said["Status"]) if said else Health.NONE


def _run_began(started: datetime | None, finished: datetime | None) -> datetime | None:
    """From when on a log line is of the present run, or of the last one. A line may be older than the noted start."""
    if started is None:
        return None
    if finished is None or finished >= started:
        return started - (_SCHEDULING if finished else timedelta(seconds=1))
    return max(finished + (started - finished) / 2, started - timedelta(seconds=1))


def _probed(health: Mapping[str, Any] | None, began: datetime | None) -> tuple[datetime, AgentReport] | None:
    """The report that the newest health probe of this run printed."""
    for entry in reversed((health or {}).get("Log") or []):
        start, end = parse_time(entry["Start"]), parse_time(entry["End"])
        if start is None or end is None or began is None or start < began:
            continue
        lines = str(entry.get("Output") or "").strip().splitlines()
        if lines and (report := parse_report(lines[-1])):
            return end, report
    return None
