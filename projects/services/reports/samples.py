"""The samples of what agents used: read for charts, and made fewer with age."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Avg, Max, Sum

from projects.models import Sample
from projects.models.figures.sample import KEPT_FOR, MINUTE, QUARTER
from projects.rules.periods import EPOCH

FINE = timedelta(hours=24, minutes=15)
"""So far back samples of a minute are shown, and of a quarter of an hour beyond that. A day, and what passes until the
question for a day is answered, or until the next step of its chart begins."""

SETTLED = timedelta(minutes=2)
"""After its end a quarter of an hour has all its minutes."""


class Point(NamedTuple):
    """A sample. `cpu` is in per cent of one core; memory in bytes; `received` and `sent` are bytes in that time."""

    at: datetime
    cpu: float
    memory: int
    received: int
    sent: int


def floor(moment: datetime, step: timedelta) -> datetime:
    """The last whole step, counted from 1970, that is not after the moment."""
    return EPOCH + (moment.astimezone(UTC) - EPOCH) // step * step


def choose_minutes(since: datetime, *, now: datetime) -> int:
    """The length of the samples that tell of the time since then."""
    return MINUTE if now - since <= FINE else QUARTER


def read_samples(ids: Collection[UUID], *, since: datetime, now: datetime, minutes: int) -> dict[UUID, list[Point]]:
    """Those of each project, oldest first, in one query. A project without any is left out."""
    rows = Sample.objects.filter(project_id__in=ids, minutes=minutes, at__gte=since, at__lte=now).order_by("at")
    found: dict[UUID, list[Point]] = {}
    for key, at, cpu, *counts in rows.values_list("project_id", "at", "cpu", "memory", "received", "sent"):
        found.setdefault(key, []).append(Point(at, cpu / 100, *counts))
    return found


def roll_up(*, since: datetime | None, now: datetime) -> datetime:
    """Makes a sample of each whole quarter of an hour that has none yet, and returns until when that is done.

    `since` is what the last call of this process returned.
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
    found: Any = rows.annotate(**sums)  # the type checker knows no names of a dictionary
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
