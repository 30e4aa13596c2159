"""What agents used of the machine, minute by minute."""

from datetime import timedelta

from django.db import models

MINUTE, QUARTER = 1, 15
"""The lengths of samples, in minutes."""

KEPT_FOR = {MINUTE: timedelta(hours=25), QUARTER: timedelta(days=8)}
"""A view of 24 hours has its first minute as long as it is open."""

LARGEST = 2**53
"""Larger counts come from no engine that works."""


class Sample(models.Model):
    """What a container used in the `minutes` from `at` on. Narrow: there is one for each minute of each agent.

    `cpu` is the mean, in hundredths of a per cent of one core; `memory` is the most that was in use, in bytes;
    `received` and `sent` are the bytes that came and went in that time.
    """

    at = models.DateTimeField()
    memory = models.PositiveBigIntegerField()
    received = models.PositiveBigIntegerField()
    sent = models.PositiveBigIntegerField()
    project_id = models.UUIDField()  # no foreign key: one project that goes must not hinder the minute of all
    cpu = models.PositiveIntegerField()
    minutes = models.PositiveSmallIntegerField(default=MINUTE)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["minutes", "at"], name="sample_by_age")]
        constraints = [models.UniqueConstraint(fields=["project_id", "minutes", "at"], name="one_sample_per_moment")]

    def __str__(self) -> str:
        return f"{self.project_id} at {self.at:%Y-%m-%d %H:%M}"
