"""Agents' use of models and of Telegram, as the gateway counts it."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q, Sum

from projects.rules.budget import Spent
from projects.rules.periods import Period, begin_of

COUNTS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")
LONGEST_MODEL = 200
MOST_MODELS = 100
"""The most rows per project and hour. Above it only rows with costs stay, because agents may name any model."""

LARGEST = 2**53
"""Our gateway never reports larger counts."""


def _count() -> "models.PositiveBigIntegerField[int, int]":
    return models.PositiveBigIntegerField(default=0)


class HourlyUsage(models.Model):
    """The usage of a project and a model in one hour, by one store of the gateway. A later total replaces it.

    A gateway that has lost its store counts from 0 in a new one, so the rows of all stores add up. `model` is empty for
    anything but calls of a model. `money` is in millionths; `input` includes `cached`.
    """

    project_id = models.UUIDField()  # no foreign key: usage outlives the project
    owner_id = models.UUIDField()
    hour = models.DateTimeField()
    model = models.CharField(max_length=LONGEST_MODEL, blank=True)
    store = models.CharField(max_length=64)
    messages, requests, errors, estimated = _count(), _count(), _count(), _count()
    input, output, cached, money = _count(), _count(), _count(), _count()

    class Meta:
        ordering = ["hour", "model"]
        indexes = [models.Index(fields=["hour"], name="usage_by_hour")]
        constraints = [
            models.UniqueConstraint(fields=["project_id", "hour", "model", "store"], name="one_usage_row_per_store")
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}:00 {self.model or '-'}"


class Spending(models.Model):
    """A project's totals for the day and the month of its last usage, so that showing them needs no sum over hours.

    `day_told` and `month_told` are the percentages of the budget of which the owner was notified in that period.
    """

    project = models.OneToOneField(
        "projects.Project", on_delete=models.CASCADE, primary_key=True, related_name="spending"
    )
    day = models.DateField()
    day_messages, day_requests, day_tokens, day_money = _count(), _count(), _count(), _count()
    day_told = models.PositiveSmallIntegerField(default=0)
    month = models.DateField()
    month_messages, month_requests, month_tokens, month_money = _count(), _count(), _count(), _count()
    month_told = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id} on {self.day}"

    def spent(self, period: Period, now: datetime) -> Spent:
        """Returns the totals of the present period; zero if the stored period is over."""
        return spent_in(period, now, day=self.day, month=self.month, row=self)


def spent_in(period: Period, now: datetime, *, day: date | None, month: date | None, row: object) -> Spent:
    if (day if period is Period.DAY else month) != begin_of(period, now).date():
        return Spent()
    return Spent(**{name: getattr(row, f"{period}_{name}") for name in Spent.__slots__})


def add_up(project_ids: Collection[UUID], now: datetime) -> dict[UUID, dict[Period, Spent]]:
    """Adds up the rows of the present day and month in one query. Leaves out projects without rows."""
    day, month = (Q(hour__gte=begin_of(period, now)) for period in (Period.DAY, Period.MONTH))
    rows = HourlyUsage.objects.filter(month, project_id__in=project_ids).order_by().values("project_id")
    names = ("messages", "requests", "input", "output", "money")
    sums = {f"month_{name}": Sum(name, default=0) for name in names}
    sums |= {f"day_{name}": Sum(name, default=0, filter=day) for name in names}
    found: Any = rows.annotate(**sums)  # mypy does not know composed names
    return {
        row["project_id"]: {
            period: Spent(
                messages=row[f"{period}_messages"],
                requests=row[f"{period}_requests"],
                tokens=row[f"{period}_input"] + row[f"{period}_output"],
                money=row[f"{period}_money"],
            )
            for period in Period
        }
        for row in found
    }
