"""Who did what to a project, when and from where. Rows are added and never changed."""

from dataclasses import dataclass
from typing import Any, NoReturn

from django.db import models
from django.utils import timezone


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts: `label` is an email or "system", `source` the session, the name of a key, the admin or a command."""

    label: str
    source: str
    address: str | None = None


SYSTEM = Actor(label="system", source="system")


class Event(models.Model):
    project_id = models.UUIDField(db_index=True)  # no foreign key: the story outlives the project
    owner_id = models.UUIDField()
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=254)
    source = models.CharField(max_length=100)
    address = models.GenericIPAddressField(null=True)
    action = models.CharField(max_length=40)
    outcome = models.CharField(max_length=40)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor}: {self.action} {self.outcome}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("Events are append-only.")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("Events are append-only.")
