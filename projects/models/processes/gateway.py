"""What is known of the gateway: one row for each `BERTH_INSTANCE`, and of a Swarm one more for each of its nodes."""

from django.conf import settings
from django.db import models


class Gateway(models.Model):
    """`store` and `seq`: how far its counts were read. `told_digest` is of the settings that are part of each entry.

    `subnet`, `host`, `port` and `knows_sources` say where agents reach it, as of `found_at`. `warning` says in one
    sentence why it does not do what it is to do, or why no other one takes its place; empty where all is well. At
    `silent_at` it was started, or somebody began to, and did not answer: nobody else who wants it waits for that for a
    while. Null where it has answered since. Of a node nothing counts but how far its counts were read (`row_of`).
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
    """The key of the row that tells how far the counts of this node's gateway were read."""
    return f"{settings.BERTH_INSTANCE} {node}".rstrip()
