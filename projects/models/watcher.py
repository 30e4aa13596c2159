"""The watcher's lease and heartbeat: one row for each `BERTH_INSTANCE`."""

from django.db import models


class Watch(models.Model):
    """Every change on the engine up to `heartbeat_at` is in the rows."""

    instance = models.CharField(primary_key=True, max_length=20)
    holder = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return self.instance
