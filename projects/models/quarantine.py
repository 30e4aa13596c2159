"""What this installation has on the engine and knows no project for: kept until somebody decides."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

KEPT_FOR = timedelta(days=30)
"""How long it is kept at least. Nothing is ever deleted by itself; after that it may be deleted all at once."""


class Quarantined(models.Model):
    """The state of an agent, and the container that holds on to it, by their labels. A decision deletes the row.

    `log` is what the agent printed last, with the time in front of each line, cleaned and without its credentials;
    `container_id` is the container that printed it. Both are empty where there was none.
    """

    key = models.CharField(primary_key=True, max_length=64, verbose_name="project")
    instance = models.CharField(max_length=20)
    owner_key = models.CharField(max_length=64, blank=True, verbose_name="owner's id")
    container_name = models.CharField(max_length=100, blank=True, verbose_name="container")
    generation = models.PositiveIntegerField(default=0)
    since = models.DateTimeField(default=timezone.now)
    container_id = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    log = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        verbose_name, verbose_name_plural = "agent in quarantine", "agents in quarantine"
        ordering = ["since", "key"]

    def __str__(self) -> str:
        return f"{self.container_name or 'state'} of {self.key}"

    @property
    def kept_until(self) -> datetime:
        """The moment from which it counts as expired."""
        return self.since + KEPT_FOR

    def is_overdue(self, now: datetime) -> bool:
        return self.kept_until <= now


def find_overdue(now: datetime) -> "models.QuerySet[Quarantined]":
    """Those of this instance that have been kept for so long that somebody should decide."""
    return Quarantined.objects.filter(instance=settings.BERTH_INSTANCE, since__lte=now - KEPT_FOR)
