"""State of the gateway: one row per `BERTH_INSTANCE`, and on a Swarm one more per node."""

from django.conf import settings
from django.db import models


class Gateway(models.Model):
    """The state of one gateway. The row of a node only has `store` and `seq` (`row_of`).

    - `store`, `seq`: how far its counts were read.
    - `told_digest`: the digest of the settings that are part of each entry.
    - `subnet`, `host`, `port`, `knows_sources`: where agents reach it, as of `found_at`.
    - `warning`: says in one sentence why it does not work, or why it is not replaced; empty if all is well.
    - `silent_at`: when a start of it began that has not led to an answer. For a while no other process waits for that
      start. Null once it has answered.
    """

    instance = models.CharField(primary_key=True, max_length=84)
    store = models.CharField(max_length=64, blank=True, default="")
    seq = models.PositiveBigIntegerField(default=0)
    told_digest = models.CharField(max_length=64, blank=True, default="")
    warning = models.CharField(max_length=300, blank=True, default="")
    subnet = models.CharField(max_length=18, blank=True, default="")
    host = models.GenericIPAddressField(protocol="IPv4", null=True)
    port = models.PositiveIntegerField(default=0)
    knows_sources = models.BooleanField(default=False)
    found_at = models.DateTimeField(null=True)
    silent_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.instance


def row_of(node: str) -> str:
    """Returns the key of the row that says how far the counts of this node's gateway were read."""
    return f"{settings.BERTH_INSTANCE} {node}".rstrip()
