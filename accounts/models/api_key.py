"""API keys, which authenticate a user's programs."""

import uuid
from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from accounts import clock
from accounts.models.user import User
from accounts.text import check_hides_nothing

WARNED_BEFORE = timedelta(days=7)
"""How long before its end the settings page warns about a key."""


class Scope(models.TextChoices):
    READ = "read", "Read only"
    WRITE = "write", "Read and write"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def unrevoked(self) -> "ApiKeyQuerySet":
        """Returns the keys that their owner sees: all except revoked ones."""
        return self.filter(revoked_at=None)

    def lasting(self) -> "ApiKeyQuerySet":
        """Returns keys that were not created for a page."""
        return self.filter(session_version=None)

    def live(self) -> "ApiKeyQuerySet":
        return self.unrevoked().filter(Q(expires_at=None) | Q(expires_at__gt=clock.now()))


class ApiKey(models.Model):
    """A long-lived token. The key itself is shown once and not stored; its digest identifies it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=64, validators=[check_hides_nothing])
    scope = models.CharField(max_length=8, choices=Scope.choices)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=16, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    lifetime_days = models.PositiveSmallIntegerField(null=True, help_text="As chosen; empty if the key never expires.")
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    last_used_ip = models.GenericIPAddressField("last used from", null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    # The user's version when the key was created for a page: such a key ends with the user's sessions. Null for
    # others.
    session_version = models.PositiveIntegerField(null=True, editable=False)
    # Rotated: another key has taken over the name, and this one works for at most another day.
    replaced = models.BooleanField(default=False, db_default=False, editable=False)

    objects: ClassVar["models.Manager[ApiKey]"] = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["user", "-created_at"], name="api_key_user_created")]
        constraints = [
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="api_key_scope_known"),
            models.CheckConstraint(condition=Exact(Length("digest"), 64), name="api_key_digest_whole"),
            models.CheckConstraint(
                condition=Q(expires_at=None) | Q(expires_at__gt=F("created_at")), name="api_key_expires_after_created"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint})"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= clock.now()

    @property
    def expires_soon(self) -> bool:
        """Returns whether the owner should create a replacement now: the key can expire, and has less than
        `WARNED_BEFORE` left.
        """
        return self.awaits_rotation and self.expires_at is not None and self.expires_at <= clock.now() + WARNED_BEFORE

    @property
    def awaits_rotation(self) -> bool:
        """Returns whether the key can be rotated: live, long-lived and not rotated yet."""
        return self.is_live and self.session_version is None and not self.replaced

    @property
    def is_live(self) -> bool:
        return self.revoked_at is None and not self.is_expired

    def lets_in(self, user: User) -> bool:
        """Returns whether the key authenticates its user. Keys created for a page end with the user's sessions."""
        return self.is_live and user.is_active and self.session_version in {None, user.session_version}
