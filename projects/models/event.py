"""Events: who did what to a project, when, and from where.

Each event is written in the same transaction as the outcome that it reports, so there is never one without the other.
Mail and other readers follow the table, each with a cursor of its own.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

from django.db import models
from django.utils import timezone

DETAIL_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts. `label` is an email or "system"; `source` is the session, a key's name, the admin or a command."""

    label: str
    source: str
    address: str | None = None


SYSTEM = Actor(label="system", source="system")

BY_STAFF = "admin"
"""The source of actions by staff."""

STAFF = "staff"
"""The actor that owners see instead of the member of staff, whose name and address they may not know."""


class Event(models.Model):
    """Rows are added and never changed. Only retention deletes them, in batches."""

    project_id = models.UUIDField()  # no foreign key: the events outlive the project
    owner_id = models.UUIDField()
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=254)
    source = models.CharField(max_length=100)
    address = models.GenericIPAddressField(null=True)
    action = models.CharField(max_length=40)
    outcome = models.CharField(max_length=40)
    detail = models.CharField(max_length=DETAIL_LENGTH, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [
            models.Index(fields=["project_id", "-at", "-id"], name="event_by_project"),
            models.Index(fields=["owner_id"], name="event_by_owner"),
            models.Index(fields=["owner_id", "-at", "-id"], name="event_by_owner_and_time"),
            models.Index(fields=["at"], name="event_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor}: {self.action} {self.outcome}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("Events are append-only.")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")

    @property
    def actor_for_owner(self) -> str:
        return STAFF if self.source == BY_STAFF else self.actor

    @property
    def address_for_owner(self) -> str | None:
        return None if self.source == BY_STAFF else self.address
