"""The runs of an agent: each start creates a new container, and the log of the former one is kept."""

import logging
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max

from containers.agent_reports import parse_time
from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import Observation
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import UnknownRunError
from projects.models import Project, Run
from projects.services.reports.logs import KEPT_LINES, keep_last, read_logs, redact_again

log = logging.getLogger(__name__)

KEPT_RUNS = 10
"""How many ended runs of a project are kept. Older ones are deleted when another run ends."""

READ_WITHIN = 3.0
"""Seconds that reading the log may add to a start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    number: int
    current: bool
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    oom_killed: bool


def keep_run(project: Project, ended: Observation) -> None:
    """Keeps the record and log of a container that is about to be removed. An unreadable log blocks no start."""
    kept = ""
    try:
        with get_engine().deadline(READ_WITHIN):
            kept = keep_last(read_logs(project=project, tail=KEPT_LINES, of=ended.container_id))
    except (EngineError, SecretUnreadableError) as error:
        log.warning("The log of the last run of %s could not be kept: %s", ended.name, error)
    values: dict[str, Any] = {
        "started_at": ended.started_at,
        "ended_at": ended.finished_at,
        "exit_code": ended.exit_code,
        "oom_killed": bool(ended.oom_killed),
        "log": kept,
    }
    try:
        with transaction.atomic():
            _store(project, ended.container_id, values)
    except IntegrityError:
        # Another process has kept it, or the project was deleted meanwhile.
        log.info("The last run of %s was kept or deleted by another process.", ended.name)


def list_runs(project: Project) -> list[RunSummary]:
    """Returns the runs, newest first. The current run is that of the existing container, running or not.

    While a start replaces the container, there is no current run: the former one is kept, and the row still shows it.
    """
    kept = list(project.runs.defer("log"))
    runs = [
        RunSummary(
            number=run.number,
            current=False,
            started_at=run.started_at,
            ended_at=run.ended_at,
            exit_code=run.exit_code,
            oom_killed=run.oom_killed,
        )
        for run in kept
    ]
    if not project.container_state or any(_is_in_row(run, project) for run in kept):
        return runs
    is_over = project.exit_code is not None
    current = RunSummary(
        number=current_number(project),
        current=True,
        started_at=project.started_at,
        ended_at=project.finished_at if is_over else None,
        exit_code=project.exit_code,
        oom_killed=project.oom_killed,
    )
    return [current, *runs]


def current_number(project: Project) -> int:
    """Returns the number of the current run, or of the next one if there is no container."""
    newest: int | None = project.runs.aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def read_run(
    *, project: Project, number: int, tail: int | None = None, since: datetime | None = None
) -> Generator[str, None, None]:
    """Yields the lines of an ended run. Raises `UnknownRunError`, and `SecretUnreadableError`."""
    run = project.runs.filter(number=number).first()
    if run is None:
        kept = sorted(project.runs.values_list("number", flat=True))
        known = f"Runs {kept[0]} to {kept[-1]} are kept" if kept else "No earlier run is kept"
        raise UnknownRunError(f"There is no log of run {number}. {known}; without `run` you get the current one.")
    lines = [line for line in run.log.split("\n") if line and (since is None or _is_after(line, since))]
    yield from redact_again(project, lines if tail is None else lines[max(len(lines) - tail, 0) :])


def _is_in_row(run: Run, project: Project) -> bool:
    """Returns whether the row shows this run, and not a later one of a container that someone started again."""
    is_later = project.started_at is not None and run.ended_at is not None and project.started_at > run.ended_at
    return run.container_id == project.container_id and not is_later


def _store(project: Project, container_id: str, values: dict[str, Any]) -> None:
    if project.runs.filter(container_id=container_id).update(**values):
        return  # a killed start had already kept it
    number = current_number(project)
    project.runs.create(container_id=container_id, number=number, **values)
    project.runs.filter(number__lte=number - KEPT_RUNS).delete()


def _is_after(line: str, since: datetime) -> bool:
    at = parse_time(line.partition(" ")[0])
    return at is None or at >= since
