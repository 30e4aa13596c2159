"""Samples of agents' resource use: reads them for charts, and combines old ones."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Avg, Max, Sum

from projects.models import Sample
from projects.models.figures.sample import KEPT_FOR, MINUTE, QUARTER
from projects.rules.periods import EPOCH

FINE = timedelta(hours=24, minutes=15)
"""How far back samples of a minute are shown; beyond that, those of a quarter of an hour. It is a day, and some time
until the request for a day is answered or the next step of its chart begins."""

SETTLED = timedelta(minutes=2)
"""How long after its end a quarter of an hour has all its minutes."""


class Point(NamedTuple):
    """A sample. `cpu` is in per cent of one core; memory in bytes; `received` and `sent` are bytes in that time."""

    at: datetime
    cpu: float
    memory: int
    received: int
    sent: int


def floor(moment: datetime, step: timedelta) -> datetime:
    """Returns the moment rounded down to a whole step, counted from 1970."""
    return EPOCH + (moment.astimezone(UTC) - EPOCH) // step * step


def choose_minutes(since: datetime, *, now: datetime) -> int:
    """Returns the length in minutes of the samples for the time since then."""
    return MINUTE if now - since <= FINE else QUARTER


def read_samples(ids: Collection[UUID], *, since: datetime, now: datetime, minutes: int) -> dict[UUID, list[Point]]:
    """Returns the samples of each project, oldest first, with one query. Leaves out projects without samples."""
    rows = Sample.objects.filter(project_id__in=ids, minutes=minutes, at__gte=since, at__lte=now).order_by("at")
    found: dict[UUID, list[Point]] = {}
    for key, at, cpu, *counts in rows.values_list("project_id", "at", "cpu", "memory", "received", "sent"):
        found.setdefault(key, []).append(Point(at, cpu / 100, *counts))
    return found


def roll_up(*, since: datetime | None, now: datetime) -> datetime:
    """Creates the missing samples of whole quarters of an hour. Returns until when this is done.

    `since` is the result of the last call in this process.
    """
    step = timedelta(minutes=QUARTER)
    end = floor(now - SETTLED, step)
    begin = since or _find_begin(now, step)
    while begin < end:
        _roll_up_one(begin, begin + step)
        begin += step
    return end


def _find_begin(now: datetime, step: timedelta) -> datetime:
    newest = Sample.objects.filter(minutes=QUARTER, at__lte=now).aggregate(at=Max("at"))["at"]
    oldest = floor(now - KEPT_FOR[MINUTE], step)
    return max(newest + step, oldest) if newest else oldest


def _roll_up_one(begin: datetime, end: datetime) -> None:
    rows = Sample.objects.filter(minutes=MINUTE, at__gte=begin, at__lt=end).order_by().values("project_id")
    sums: dict[str, Any] = {"cpus": Avg("cpu"), "most": Max("memory"), "came": Sum("received"), "went": Sum("sent")}
    found: Any = rows.annotate(**sums)  # mypy does not know the names in a dictionary
    made = [
        Sample(
            project_id=row["project_id"],
            at=begin,
            minutes=QUARTER,
            cpu=round(row["cpus"]),
            memory=row["most"],
            received=row["came"],
            sent=row["went"],
        )
        for row in found
    ]
    Sample.objects.bulk_create(made, batch_size=500, ignore_conflicts=True)
