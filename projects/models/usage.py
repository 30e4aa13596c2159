"""What agents use of models and of Telegram, as the gateway has counted it."""

from datetime import date, datetime

from django.db import models
from django.db.models import Sum

from projects.models.project import Project
from projects.rules.budget import Spent
from projects.rules.periods import Period, begin_of

COUNTS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")
LONGEST_MODEL = 200
MOST_MODELS = 100
"""Rows of a project and hour. Beyond them those are kept that have cost something: agents may name any model."""

LARGEST = 2**53
"""Larger counts come from no gateway of ours."""


def _count() -> "models.PositiveBigIntegerField[int, int]":
    return models.PositiveBigIntegerField(default=0)


class HourlyUsage(models.Model):
    """An hour of a project and a model, by one store of the gateway. Totals: a later one takes the place of this.

    A gateway that has lost its store counts from 0 in a new one, so that the rows of all stores add up. `model` is
    empty for what is no call of a model. `money` is in millionths, `input` holds `cached`.
    """

    project_id = models.UUIDField()  # no foreign key: what was used outlives the project
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
    """What a project has used in the day and in the month of its last usage, so that nobody adds up hours to show it.

    `day_told` and `month_told` are the percentages of the budget of which the owner was told in that period.
    """

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="spending")
    day = models.DateField()
    day_messages, day_requests, day_tokens, day_money = _count(), _count(), _count(), _count()
    day_told = models.PositiveSmallIntegerField(default=0)
    month = models.DateField()
    month_messages, month_requests, month_tokens, month_money = _count(), _count(), _count(), _count()
    month_told = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id} on {self.day}"

    def spent(self, period: Period, now: datetime) -> Spent:
        """In the present period. One that is over counts for nothing."""
        return spent_in(period, now, day=self.day, month=self.month, row=self)


def spent_in(period: Period, now: datetime, *, day: date | None, month: date | None, row: object) -> Spent:
    if (day if period is Period.DAY else month) != begin_of(period, now).date():
        return Spent()
    return Spent(**{name: getattr(row, f"{period}_{name}") for name in Spent.__slots__})


def add_up(project_id: object, period: Period, now: datetime) -> Spent:
    """What the rows of the present period come to."""
    rows = HourlyUsage.objects.filter(project_id=project_id, hour__gte=begin_of(period, now))
    sums = rows.order_by().aggregate(
        *(Sum(name, default=0) for name in ("messages", "requests", "input", "output", "money"))
    )
    return Spent(
        messages=sums["messages__sum"],
        requests=sums["requests__sum"],
        tokens=sums["input__sum"] + sums["output__sum"],
        money=sums["money__sum"],
    )
