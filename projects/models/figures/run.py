"""Past runs of agents."""

from typing import ClassVar

from django.db import models

from projects.rules.status.reasons import ended_for_memory


class Run(models.Model):
    """The record of a replaced container: when it ran, how it ended, and its last log lines.

    Each line of `log` begins with its time, and is cleaned and without credentials. `exit_code` and `ended_at` are null
    if the container was still running when it was replaced.
    """

    project = models.ForeignKey("projects.Project", on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    container_id = models.CharField(max_length=64)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    oom_killed = models.BooleanField(default=False)
    log = models.TextField(blank=True)

    objects: ClassVar[models.Manager["Run"]]

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="run_number_is_unique"),
            models.UniqueConstraint(fields=["project", "container_id"], name="one_run_per_container"),
        ]

    def __str__(self) -> str:
        return f"run {self.number}"

    @property
    def ended_for_memory(self) -> bool:
        return ended_for_memory(self.exit_code, oom_killed=self.oom_killed)
