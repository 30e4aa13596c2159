"""Leases of requests that last: log followers and those who wait."""

from django.conf import settings
from django.db import models


class LongRequest(models.Model):
    """The lease of one request. A server that was killed leaves its leases behind, which is why they expire."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    held_until = models.DateTimeField()

    class Meta:
        db_table = "projects_slot"  # its first name; a server of an older version may still use it

    def __str__(self) -> str:
        return f"{self.owner_id} until {self.held_until:%H:%M:%S}"
