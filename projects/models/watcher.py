"""The watcher's lease and heartbeat: one row for each `BERTH_INSTANCE`."""

from django.db import models


class Watch(models.Model):
    """Every change on the engine up to `heartbeat_at` is in the rows.

    `firewall_warning` says why the agents' firewall could not be set; it is empty where it is set.
    """

    instance = models.CharField(primary_key=True, max_length=20)
    holder = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    firewall_warning = models.CharField(max_length=1000, blank=True, default="", db_default="")

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return self.instance
