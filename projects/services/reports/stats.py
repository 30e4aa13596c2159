"""An agent's resource use, now and over time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F, Sum

from containers.get_engine import get_engine
from containers.vocabulary import Usage
from projects.models import HourlyUsage, Project
from projects.models.figures.sample import KEPT_FOR, QUARTER
from projects.services.reports.samples import Point, choose_minutes, floor, read_samples


class Hour(NamedTuple):
    """The gateway's counts in an hour of UTC. `tokens` are input and output tokens together."""

    at: datetime
    messages: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Series:
    """What an agent used since then, oldest first. Samples are missing while it did not run or was not measured.

    `minutes` is the length of each sample.
    """

    since: datetime
    until: datetime
    minutes: int
    memory_limit: int
    samples: list[Point]
    hours: list[Hour]


def read_usage(project: Project) -> Usage | None:
    """Returns what the container uses at this moment, or None if it does not run. Raises `EngineError`."""
    engine = get_engine()
    with engine.read_deadline():
        return engine.stats(project.container_key)


def read_series(project: Project, *, since: datetime, now: datetime) -> Series:
    """Reads the series with two queries, without the engine. It begins at the earliest with the oldest kept sample."""
    begin = max(since, now - KEPT_FOR[QUARTER])
    minutes = choose_minutes(begin, now=now)
    found = read_samples([project.pk], since=floor(begin, timedelta(minutes=minutes)), now=now, minutes=minutes)
    return Series(
        since=begin,
        until=now,
        minutes=minutes,
        memory_limit=project.plan.memory,
        samples=found.get(project.pk, []),
        hours=_read_hours(project, since=begin, now=now),
    )


def _read_hours(project: Project, *, since: datetime, now: datetime) -> list[Hour]:
    begin = floor(since, timedelta(hours=1))
    rows = HourlyUsage.objects.filter(project_id=project.pk, hour__gte=begin, hour__lte=now).order_by()
    sums: dict[str, Any] = {"count": Sum("messages"), "sum": Sum(F("input") + F("output"))}
    found: Any = rows.values("hour").annotate(**sums).order_by("hour")
    return [Hour(row["hour"], row["count"], row["sum"]) for row in found]
