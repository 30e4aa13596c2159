"""Columns: how the last run that ended by itself ended."""

from typing import Any

from django.db import models

NOT_ENDED: dict[str, Any] = {
    "ended_at": None,
    "ended_exit_code": None,
    "ended_oom_killed": False,
    "ended_code": "",
}
"""The fields of a project that has not crashed since its owner last started it."""


class Ended(models.Model):
    """Written with each counted crash. Neither the engine's restarts nor Berth's stops change it.

    `ended_exit_code` is null if nobody saw how the run ended; `ended_code` is the code of the agent's last report.
    """

    ended_at = models.DateTimeField(null=True, editable=False)
    ended_exit_code = models.IntegerField(null=True, editable=False)
    ended_oom_killed = models.BooleanField(default=False, db_default=False, editable=False)
    ended_code = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)

    class Meta:
        abstract = True

    def last_end(self) -> dict[str, Any]:
        """Returns the observed fields of how a run ended, with the values of the last run that ended by itself."""
        return {
            "exit_code": self.ended_exit_code,
            "oom_killed": self.ended_oom_killed,
            "finished_at": self.ended_at,
            "agent_code": self.ended_code,
        }
