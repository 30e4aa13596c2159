"""Columns: failures of the watcher's rounds at a project."""

from datetime import datetime, timedelta
from typing import Any

from django.db import models

from accounts.moments import lasts
from containers.errors import ContainerSilentError

FIRST_PAUSE = timedelta(seconds=4)
LONGEST_PAUSE = timedelta(minutes=10)
LONGEST_SILENCE = timedelta(seconds=16)
"""The longest pause if the engine merely did not answer about the container, because the next attempt may well succeed.
The first pause is then a second."""

NO_TROUBLE: dict[str, Any] = {
    "reconcile_failures": 0,
    "reconcile_failed_at": None,
    "reconcile_again_at": None,
    "reconcile_error": "",
}
"""The fields of a row at which the last round did not fail. An owner's command resets them, because it may help."""


class Reconciled(models.Model):
    """Consecutive failures of the watcher at this row: how many, when the last one was, and when it tries again.

    While `reconcile_failures` is not 0, the watcher's heartbeat says nothing about the row.
    """

    reconcile_failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    reconcile_failed_at = models.DateTimeField("watcher failed at", null=True, editable=False)
    reconcile_again_at = models.DateTimeField(null=True, editable=False)
    reconcile_error = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)

    class Meta:
        abstract = True

    def is_skipped(self, now: datetime) -> bool:
        """Returns whether a round at `now` skips the project because earlier rounds failed at it."""
        return lasts(self.reconcile_again_at, at_most=LONGEST_PAUSE, now=now)

    def trouble_after(self, error: Exception, *, now: datetime) -> dict[str, Any]:
        """Returns the fields to write after one more failure. They contain the error's class but not its message."""
        failures = self.reconcile_failures + 1
        pause = pause_after(failures)
        if isinstance(error, ContainerSilentError):
            pause = min(pause / 4, LONGEST_SILENCE)
        return {
            "reconcile_failures": failures,
            "reconcile_failed_at": now,
            "reconcile_again_at": now + pause,
            "reconcile_error": type(error).__name__[:200],
        }


def pause_after(failures: int) -> timedelta:
    """Returns the pause after this many failures: 4 seconds, doubled after each further one, at most 10 minutes."""
    doublings = min(failures - 1, 16)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)
