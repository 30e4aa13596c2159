"""Sessions of users, to be listed and ended one by one."""

import uuid

from django.db import models
from django.utils import timezone

from accounts.models.user import User


class SessionKind(models.TextChoices):
    DASHBOARD = "dashboard", "Dashboard"
    API = "api", "API"


class OpenSession(models.Model):
    """Where and when a session began. It authenticates nobody: a session token or a row of Django's sessions does.

    `token` says which: the id of the session token, or the digest under which the session's row is stored. The session
    is open while its `session_version` is the user's, and until `ends_at` at most.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="open_sessions")
    kind = models.CharField(max_length=10, choices=SessionKind.choices)
    token = models.CharField(max_length=40, unique=True, editable=False)
    address = models.GenericIPAddressField(null=True)
    program = models.CharField(max_length=64, blank=True)
    began_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(db_index=True)
    session_version = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["user", "-began_at"], name="open_session_by_user")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.user_id}, since {self.began_at:%Y-%m-%d %H:%M:%S}"
