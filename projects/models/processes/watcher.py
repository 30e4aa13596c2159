"""The watcher's lease and heartbeat: one row for each `BERTH_INSTANCE`."""

from datetime import datetime, timedelta
from functools import lru_cache
from uuid import uuid4

from django.conf import settings
from django.db import models

from accounts import clock
from accounts.compiled_instances import CompiledInstances
from accounts.moments import is_recent, lasts
from projects.rules.status.lifecycle import LEASE

BEATS_WITHIN = timedelta(seconds=15)
"""How old the heartbeat may be before the watcher counts as stuck. It comes every two seconds."""


class Watch(models.Model):
    """Every change on the engine up to `heartbeat_at` is in the rows.

    `firewall_warning` says why the agents' firewall does not hold; it is empty where it does. `bars_agents`: none may
    run as long as that is so. `names_warning` says why agents can ask the engine's name server without limit.
    """

    instance = models.CharField(primary_key=True, max_length=20)
    holder = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    firewall_warning = models.CharField(max_length=1000, blank=True, default="", db_default="")
    bars_agents = models.BooleanField(default=False, db_default=False)
    names_warning = models.CharField(max_length=1000, blank=True, default="", db_default="")

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return self.instance


def read_heartbeat() -> datetime | None:
    """The last moment at which all that the engine had was in the rows. None where no watcher has ever come so far."""
    return Watch.objects.filter(instance=settings.BERTH_INSTANCE).values_list("heartbeat_at", flat=True).first()


def is_beating(heartbeat: datetime) -> bool:
    """Whether a watcher is at work, by this heartbeat."""
    return is_recent(heartbeat, within=BEATS_WITHIN, now=clock.now())


def agents_are_barred() -> bool:
    """Whether the watcher that is at work has found that no agent may run."""
    here = next(_watch().read(settings.BERTH_INSTANCE), None)
    return here is not None and here.bars_agents and lasts(here.lease_until, at_most=LEASE, now=clock.now())


@lru_cache
def _watch() -> CompiledInstances[Watch]:
    return CompiledInstances(lambda instance: Watch.objects.filter(instance=instance).order_by(), uuid4().hex)
