"""Places for requests that last: log followers and those who wait."""

from django.conf import settings
from django.db import models


class Slot(models.Model):
    """Held by one request. A server that was killed leaves its slots behind, which is why they run out."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    held_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.owner_id} until {self.held_until:%H:%M:%S}"
