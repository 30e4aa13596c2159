"""Agents' memory and containers on the engine without a project, kept until an operator decides."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

KEPT_FOR = timedelta(days=30)
"""How long they are kept at least. Berth never deletes them by itself; after this, one command may delete them all."""


class Quarantined(models.Model):
    """The memory of an agent and the container that uses it, by their labels. A decision deletes the row.

    `log` has the agent's last lines, each with its time first, cleaned and without credentials; `container_id` is the
    container that printed them. Both are empty if there was no container.
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
        """The moment from which it is overdue."""
        return self.since + KEPT_FOR

    def is_overdue(self, now: datetime) -> bool:
        return self.kept_until <= now


def find_overdue(now: datetime) -> "models.QuerySet[Quarantined]":
    """Returns the rows of this instance that have been kept so long that an operator should decide."""
    return Quarantined.objects.filter(instance=settings.BERTH_INSTANCE, since__lte=now - KEPT_FOR)
