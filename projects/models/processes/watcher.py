"""The watcher's lease and heartbeat: one row per `BERTH_INSTANCE`."""

from datetime import datetime, timedelta
from functools import lru_cache
from uuid import uuid4

from django.conf import settings
from django.db import models

from accounts import clock
from accounts.database.compiled_instances import CompiledInstances
from accounts.moments import is_recent, lasts
from projects.rules.status.lifecycle import LEASE

BEATS_WITHIN = timedelta(seconds=15)
"""How old the heartbeat may be before the watcher counts as stuck. It beats every two seconds."""


class Watch(models.Model):
    """Every change on the engine up to `heartbeat_at` is in the rows.

    `firewall_warning` says why the agents' firewall is not in place; empty if it is. `bars_agents`: no agent may run
    meanwhile. `names_warning` says why agents' look-ups at the engine's name server are not limited. `holds_repairs`:
    nothing is repaired, because the engine has containers that this database cannot explain. `trusted_at` is when
    the clock was last trusted (`projects.watcher.upkeep.steady_clock`).
    """

    instance = models.CharField(primary_key=True, max_length=20)
    holder = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    firewall_warning = models.CharField(max_length=1000, blank=True, default="", db_default="")
    bars_agents = models.BooleanField(default=False, db_default=False)
    names_warning = models.CharField(max_length=1000, blank=True, default="", db_default="")
    holds_repairs = models.BooleanField(default=False, db_default=False)
    trusted_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return self.instance

    @property
    def repairs_until(self) -> datetime | None:
        """When the lease ends, during which ended agents are started again; None while repairs are held."""
        return None if self.holds_repairs else self.lease_until


def read_heartbeat() -> datetime | None:
    """Returns the last moment at which the rows agreed with the engine. None if there never was a heartbeat."""
    return Watch.objects.filter(instance=settings.BERTH_INSTANCE).values_list("heartbeat_at", flat=True).first()


def read_trusted_clock() -> datetime | None:
    """Returns the last time of a trusted clock, or of the last heartbeat if none was noted, or None."""
    here = Watch.objects.filter(instance=settings.BERTH_INSTANCE).values_list("trusted_at", "heartbeat_at").first()
    return here and (here[0] or here[1])


def note_trusted_clock(at: datetime) -> None:
    Watch.objects.filter(instance=settings.BERTH_INSTANCE).update(trusted_at=at)


def is_beating(heartbeat: datetime) -> bool:
    """Returns whether a watcher is at work, judging by this heartbeat."""
    return is_recent(heartbeat, within=BEATS_WITHIN, now=clock.now())


def is_barred(*, confined: bool) -> bool:
    """Returns whether the present watcher has found that this agent may not run.

    No agent that is `confined` to the gateway may run if the rules have no effect, even where others may.
    """
    here = next(_watch().read(settings.BERTH_INSTANCE), None)
    if here is None or not lasts(here.lease_until, at_most=LEASE, now=clock.now()):
        return False
    return here.bars_agents or (confined and bool(here.firewall_warning))


@lru_cache
def _watch() -> CompiledInstances[Watch]:
    return CompiledInstances(lambda instance: Watch.objects.filter(instance=instance).order_by(), uuid4().hex)
