"""Turns Docker's answers into observations. Makes no calls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from containers.agent_contract import AGENT_USER
from containers.agent_reports import parse_report, parse_time
from containers.docker.drift import has_changed, has_other_address, has_strayed
from containers.docker_api.answers import read_flag, read_labels, read_number, read_text
from containers.docker_api.errors import understand_answer
from containers.vocabulary import QUARANTINE_LABEL, AgentReport, ContainerState, Health, Observation

_HEALTH_WORDS = {
    "(healthy)": Health.HEALTHY,
    "(unhealthy)": Health.UNHEALTHY,
    "(health: starting)": Health.STARTING,
}
_ID = re.compile(r"[0-9a-f]{64}")
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
_YOUNG = re.compile(r"Up (?:Less than a|(\d+)) seconds?")
_ROUNDED_FROM, _TOLERANCE = 60, 2
"""The age in seconds from which Docker no longer lists it exactly, and the seconds that it may be wrong: it is rounded
down, and the engine's clock may be another one."""

_START_DELAY = timedelta(milliseconds=90)
"""How long after the start of the process Docker may record it. Less than its pause between two runs, 100 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """An inspected container: the observation without the report, and the facts needed to find the report.

    `user` is the number of the user that it runs as, `run_began` the time from which log lines belong to the present or
    last run, `probe_report` the report from the newest health check of this run, with its time. `mounts` are its
    volumes by their paths.
    """

    observation: Observation
    user: int
    run_began: datetime | None
    probe_report: tuple[datetime, AgentReport] | None
    mounts: Mapping[str, str]

    @property
    def alone(self) -> "Details":
        """The same details, marked as the only container of its key."""
        return replace(self, observation=replace(self.observation, mounts=self.mounts))


def read_details(answer: Mapping[str, Any]) -> Details:
    """Reads the answer of GET /containers/{id}/json."""
    with understand_answer():
        state = answer["State"]
        status = ContainerState(state["Status"])
        started, finished = parse_time(state["StartedAt"]), parse_time(state["FinishedAt"])
        began = _run_began(started, finished)
        labels = _labels(answer["Config"]["Labels"], answer)
        return Details(
            observation=Observation(
                name=read_text(answer["Name"]).removeprefix("/"),
                container_id=_id(answer["Id"]),
                labels=labels,
                state=status,
                health=_health(state.get("Health")),
                exit_code=read_number(state["ExitCode"]) if _has_exited(status) else None,
                oom_killed=read_flag(state["OOMKilled"]),
                restart_count=max(0, read_number(answer["RestartCount"])),
                image_id=_image_id(answer.get("Image")),
                created_at=parse_time(answer["Created"]),
                started_at=started,
                finished_at=finished,
                has_drifted=has_changed(answer, labels),
            ),
            user=_user(answer["Config"].get("User") or ""),
            run_began=began,
            probe_report=_probe_report(state.get("Health"), began),
            mounts=_mounts(answer.get("Mounts")),
        )


def _image_id(value: object) -> str:
    return value if isinstance(value, str) and _IMAGE_ID.fullmatch(value) else ""


def read_rows(answer: object) -> list[Observation]:
    """Reads the answer of GET /containers/json, which has less detail than an inspection."""
    with understand_answer():
        if not isinstance(answer, list):
            raise TypeError
        return [_read_row(row) for row in answer]


def _read_row(row: Mapping[str, Any]) -> Observation:
    summary, labels, names = row["Status"], _labels(row["Labels"], row), row["Names"]
    if not isinstance(names, list):
        raise TypeError
    return Observation(
        name=read_text(names[0]).removeprefix("/"),
        container_id=_id(row["Id"]),
        labels=labels,
        state=ContainerState(row["State"]),
        health=next((verdict for word, verdict in _HEALTH_WORDS.items() if summary.endswith(word)), Health.NONE),
        created_at=_from_seconds(row["Created"]),
        has_drifted=has_strayed(row) or has_other_address(row, labels),
        up_for=_up_for(summary),
    )


def _up_for(summary: str) -> int | None:
    """Returns the age of a run in seconds, or None from a minute on, because Docker then rounds it."""
    young = _YOUNG.match(summary)
    return int(young[1] or 0) if young else None


def _labels(value: object, answer: Mapping[str, Any]) -> dict[str, str]:
    """Returns the labels. Of these, the one of the quarantine may come from the image of an agent.

    A container that keeps a volume in quarantine has no network, and every agent has one.
    """
    labels = read_labels(value)
    if (answer.get("HostConfig") or {}).get("NetworkMode") not in {None, "none"}:
        labels.pop(QUARANTINE_LABEL, None)
    return labels


def _from_seconds(value: object) -> datetime:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return datetime.fromtimestamp(value, UTC)


def _id(value: object) -> str:
    if not _ID.fullmatch(read_text(value)):
        raise ValueError
    return read_text(value)


def is_plain(row: Observation) -> bool:
    """Returns whether the container is running and healthy, so that the list call suffices."""
    return row.state is ContainerState.RUNNING and row.health is Health.HEALTHY


def is_run(row: Observation, since: datetime, within: tuple[datetime, datetime]) -> bool:
    """Returns whether a container without a health check, listed at a time `within` these, can be running since then.

    For a minute after it began again, a list shows that it is younger.
    """
    if (row.state, row.health) != (ContainerState.RUNNING, Health.NONE):
        return False
    least, most = ((at - since).total_seconds() for at in within)
    if row.up_for is None:
        return most + _TOLERANCE >= _ROUNDED_FROM
    return least - _TOLERANCE <= row.up_for <= most + _TOLERANCE


def _mounts(mounts: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Returns the volumes by their paths. Other mounts have no name."""
    return {read_text(each["Destination"]): read_text(each["Name"]) for each in mounts or () if each.get("Name")}


def _user(text: str) -> int:
    """Returns the user number of a text such as `10001:10001`. All containers that Berth creates have a number."""
    number = text.partition(":")[0]
    return int(number) if number.isdecimal() else AGENT_USER


def _has_exited(state: ContainerState) -> bool:
    return state in {ContainerState.EXITED, ContainerState.DEAD, ContainerState.RESTARTING}


def _health(health: Mapping[str, Any] | None) -> Health:
    return Health(health["Status"]) if health else Health.NONE


def _run_began(started: datetime | None, finished: datetime | None) -> datetime | None:
    """Returns the time from which log lines belong to the present run, or to the last run if it has ended.

    The first lines of a run may be older than the start that Docker recorded. The bound therefore lies before that
    start, and after the end of the previous run.
    """
    if started is None:
        return None
    if finished is None or finished >= started:
        return started - (_START_DELAY if finished else timedelta(seconds=1))
    return max(finished + (started - finished) / 2, started - timedelta(seconds=1))


def _probe_report(health: Mapping[str, Any] | None, began: datetime | None) -> tuple[datetime, AgentReport] | None:
    """Returns the report that the newest health check of this run printed, with its time, or None."""
    for entry in reversed((health or {}).get("Log") or []):
        start, end = parse_time(entry["Start"]), parse_time(entry["End"])
        if start is None or end is None or began is None or start < began:
            continue
        lines = str(entry.get("Output") or "").strip().splitlines()
        if lines and (report := parse_report(lines[-1])):
            return end, report
    return None
