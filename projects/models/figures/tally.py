"""Counters of how often something has happened, for the life of the database."""

from collections.abc import Mapping
from typing import NamedTuple

from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Least

MOST = 2**53
"""Readers with floating-point numbers cannot represent larger whole numbers exactly."""

LABEL = 40


class Subject(models.TextChoices):
    """What is counted. The comments name the two labels of each subject."""

    EVENTS = "events"  # action, outcome
    TOKENS = "tokens"  # provider, direction
    GATEWAY = "gateway"  # upstream, outcome


class Labels(NamedTuple):
    first: str
    second: str


ANSWERED, FAILED, SENT = Labels("provider", "answered"), Labels("provider", "failed"), Labels("telegram", "message")
CALLS = (ANSWERED, FAILED, SENT)
"""What the gateway counts: calls of models, and bots' messages that Telegram accepted."""


class Tally(models.Model):
    """A counter that never falls, even if the counted rows are deleted. No label names a project, owner or model."""

    subject = models.CharField(max_length=10, choices=Subject, editable=False)
    first = models.CharField(max_length=LABEL, editable=False)
    second = models.CharField(max_length=LABEL, editable=False)
    number = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name_plural = "tallies"
        constraints = [models.UniqueConstraint(fields=["subject", "first", "second"], name="one_tally_of_each_kind")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.first}, {self.second}"


def count_on(subject: Subject, numbers: Mapping[Labels, int]) -> None:
    """Adds the numbers to the tallies. Call it in the transaction that also records how far was counted.

    Updates rows in the order of their labels, so that concurrent calls cannot deadlock.
    """
    more = {labels: number for labels, number in sorted(numbers.items()) if number > 0}
    rows = [Tally(subject=subject, first=labels.first, second=labels.second) for labels in more]
    Tally.objects.bulk_create(rows, ignore_conflicts=True)
    for labels, number in more.items():
        grown = Least(F("number") + min(number, MOST), Value(MOST))
        Tally.objects.filter(subject=subject, **labels._asdict()).update(number=grown)
