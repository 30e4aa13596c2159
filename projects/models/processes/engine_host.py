"""Facts about the machine that runs the containers: one row per `BERTH_INSTANCE`."""

from functools import lru_cache
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.database.compiled_instances import CompiledInstances


class EngineHost(models.Model):
    """The row is also the lock for reserving memory, so that no memory is reserved twice."""

    instance = models.CharField(primary_key=True, max_length=20)
    memory = models.PositiveBigIntegerField(null=True)  # in bytes; None if the engine has never reported it
    cpus = models.PositiveIntegerField(null=True)
    engine_version = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Protections that this engine cannot give agents: words of BERTH_SWARM_ACCEPT, separated by spaces.
    lacks = models.CharField(max_length=200, blank=True, default="", db_default="")
    # Whether the Swarm's manager hears from each node, by the node's name; empty for a single host.
    nodes = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    ask_again_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.instance


def read_host() -> EngineHost | None:
    return next(_host(is_locked=False).read(settings.BERTH_INSTANCE), None)


def lock_host() -> EngineHost | None:
    """Returns the row, locked until the end of the transaction in which it must be called."""
    return next(_host(is_locked=True).read(settings.BERTH_INSTANCE), None)


@lru_cache
def _host(*, is_locked: bool) -> CompiledInstances[EngineHost]:
    rows = EngineHost.objects.select_for_update() if is_locked else EngineHost.objects.all()
    return CompiledInstances(lambda instance: rows.filter(instance=instance).order_by(), uuid4().hex)
