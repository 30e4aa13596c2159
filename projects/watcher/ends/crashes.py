"""Finds out how a crashed run ended: from the container if it is down, else from the engine's events."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from containers.agent_reports import newest_report, parse_time
from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import Observation
from projects.models import Project
from projects.watcher.ends.run_ends import LATE, End, FindEnd

HEARD_WITHIN = timedelta(seconds=5)
"""How long after a restart by the engine the event for the end before it may still arrive."""

BEFORE_START = timedelta(milliseconds=90)
"""How much earlier than its start event the first lines of a run may be. The pause between two runs is longer."""

LINES = 200
"""How many of the last lines are searched for the last report of the ended run."""


def describe_end(project: Project, seen: Observation, find_end: FindEnd, *, at: datetime) -> dict[str, Any] | None:
    """Returns the columns of `Ended`, or None if an event about this end, or about its cause, may still come."""
    if seen.exit_code is not None:
        code = seen.report.code if seen.report else ""
        return _columns(seen.finished_at or at, seen.exit_code, oom_killed=bool(seen.oom_killed), code=code)
    end = find_end(seen.container_id)
    runs_for = None if seen.started_at is None else at - seen.started_at
    if end is not None and end.is_unexplained and runs_for is not None and timedelta(0) <= runs_for < LATE:
        return None
    if end is not None and (project.ended_at is None or end.at > project.ended_at):
        return _columns(end.at, end.exit_code, oom_killed=end.oom_killed, code=_read_code(project, end))
    if runs_for is not None and timedelta(0) <= runs_for < HEARD_WITHIN:
        return None
    return _columns(seen.finished_at or at, None, oom_killed=False, code="")


def _columns(at: datetime, exit_code: int | None, *, oom_killed: bool, code: str) -> dict[str, Any]:
    return {"ended_at": at, "ended_exit_code": exit_code, "ended_oom_killed": oom_killed, "ended_code": code[:40]}


def _read_code(project: Project, end: End) -> str:
    """Returns the code of that run's last report. Its lines are still in the log, before those of the present run."""
    since = end.began_at - BEFORE_START if end.began_at else project.started_at
    if since is not None and since > end.at:
        since = None  # the row has the next run already
    with suppress(EngineError), get_engine().read_deadline():
        lines = list(get_engine().logs(project.container_key, tail=LINES, since=since))
        of_that_run = [line for line in lines if _is_by(line, end.at)]
        newest = newest_report(of_that_run, since=since)
        return newest[1].code if newest else ""
    return ""


def _is_by(line: bytes, at: datetime) -> bool:
    stamp = parse_time(line.partition(b" ")[0].decode(errors="replace"))
    return stamp is not None and stamp <= at
