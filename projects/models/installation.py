"""This installation: its id, which labels everything that it creates on an engine (`containers.identity`)."""

import secrets
from functools import lru_cache

from django.db import models
from django.utils import timezone

from accounts.database.compiled_instances import CompiledInstances
from accounts.database.compiled_query import CompiledQuery


def make_identifier() -> str:
    return secrets.token_hex(16)


class Installation(models.Model):
    """The only row. A new database gets a new id, so it never takes an older one's containers for its own.

    `held_because` says in one sentence why nothing is repaired until an operator decides; empty if repairs are on.
    `backed_up_at` is the time of the last archive that `manage.py backup` wrote or the database was restored from.
    `reminded_at` is when the log last reminded the operator of pending decisions.
    """

    identifier = models.CharField(max_length=32, default=make_identifier, editable=False)
    next_uid = models.PositiveBigIntegerField(null=True, editable=False)
    next_address = models.PositiveBigIntegerField(null=True, editable=False)  # as a number, of IPv4
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    held_since = models.DateTimeField(null=True, editable=False)
    held_because = models.TextField(blank=True, default="", editable=False)
    backed_up_at = models.DateTimeField(null=True, editable=False)
    reminded_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.identifier


def read_installation() -> Installation:
    """Returns the row, which the first call creates."""
    installation, _ = Installation.objects.get_or_create(pk=1)
    return installation


def lock_installation() -> Installation:
    """Returns the row, locked until the end of the transaction in which it must be called."""
    found = next(_locked().read(), None)
    return found or Installation.objects.select_for_update().get_or_create(pk=1)[0]


@lru_cache
def _locked() -> CompiledInstances[Installation]:
    return CompiledInstances(lambda: Installation.objects.select_for_update().filter(pk=1).order_by())


def read_hold() -> str:
    """Returns the sentence that says why nothing is repaired, or an empty text. Writes nothing."""
    return Installation.objects.filter(pk=1).values_list("held_because", flat=True).first() or ""


def read_installation_id() -> str:
    """Returns the id. Commands wait for it between their claim and the engine, so it is read by itself."""
    found = _identifier().rows()
    return str(found[0][0]) if found else read_installation().identifier


@lru_cache
def _identifier() -> CompiledQuery:
    return CompiledQuery(lambda: Installation.objects.filter(pk=1).order_by().values_list("identifier"))
