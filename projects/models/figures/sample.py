"""How much of the machine agents used, minute by minute."""

from datetime import timedelta

from django.db import models

MINUTE, QUARTER = 1, 15
"""The lengths of samples, in minutes."""

KEPT_FOR = {MINUTE: timedelta(hours=25), QUARTER: timedelta(days=8)}
"""Minutes are kept an hour longer than a day, so that an open chart of 24 hours keeps its first minute."""

LARGEST = 2**53
"""No working engine reports larger counts."""


class Sample(models.Model):
    """What a container used in the `minutes` from `at` on. The row is narrow: there is one per minute and agent.

    `cpu` is the mean in hundredths of a per cent of one core; `memory` is the maximum in bytes; `received` and `sent`
    are the bytes of that time.
    """

    at = models.DateTimeField()
    memory = models.PositiveBigIntegerField()
    received = models.PositiveBigIntegerField()
    sent = models.PositiveBigIntegerField()
    project_id = models.UUIDField()  # no foreign key: a deleted project must not make the insert for all fail
    cpu = models.PositiveIntegerField()
    minutes = models.PositiveSmallIntegerField(default=MINUTE)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["minutes", "at"], name="sample_by_age")]
        constraints = [models.UniqueConstraint(fields=["project_id", "minutes", "at"], name="one_sample_per_moment")]

    def __str__(self) -> str:
        return f"{self.project_id} at {self.at:%Y-%m-%d %H:%M}"
