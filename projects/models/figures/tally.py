"""How often something has happened, counted on for as long as the database lives."""

from collections.abc import Mapping
from typing import NamedTuple

from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Least

MOST = 2**53
"""Larger numbers are no whole numbers any more where they are read."""

LABEL = 40


class Subject(models.TextChoices):
    """What is counted, and what the two labels of its rows are."""

    EVENTS = "events"  # action, outcome
    TOKENS = "tokens"  # provider, direction
    GATEWAY = "gateway"  # upstream, outcome


class Labels(NamedTuple):
    first: str
    second: str


ANSWERED, FAILED, SENT = Labels("provider", "answered"), Labels("provider", "failed"), Labels("telegram", "message")
CALLS = (ANSWERED, FAILED, SENT)
"""What the gateway tells apart: calls of models, and the messages of bots that Telegram has taken."""


class Tally(models.Model):
    """Never goes down: what was counted may be deleted meanwhile. No label names a project, an owner or a model."""

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
    """Adds them. To be called in the transaction that also writes until where has been counted.

    In the order of the labels, so that no two that count at a time wait for each other.
    """
    more = {labels: number for labels, number in sorted(numbers.items()) if number > 0}
    rows = [Tally(subject=subject, first=labels.first, second=labels.second) for labels in more]
    Tally.objects.bulk_create(rows, ignore_conflicts=True)
    for labels, number in more.items():
        grown = Least(F("number") + min(number, MOST), Value(MOST))
        Tally.objects.filter(subject=subject, **labels._asdict()).update(number=grown)
