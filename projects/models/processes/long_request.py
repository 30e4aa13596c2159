"""Leases of long requests: those that follow a log or wait for a status."""

from datetime import timedelta

from django.conf import settings
from django.db import models

HELD_FOR = timedelta(seconds=60)
"""How long a lease is valid without renewal. Its holder renews it several times in that time."""


class LongRequest(models.Model):
    """The lease of one request. It expires, because a killed server cannot return it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    held_until = models.DateTimeField()

    class Meta:
        db_table = "projects_slot"  # its first name; a server of an older version may still use it

    def __str__(self) -> str:
        return f"{self.owner_id} until {self.held_until:%H:%M:%S}"
