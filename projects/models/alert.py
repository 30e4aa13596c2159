"""The channels by which users get alerts about their agents, and the state of each message."""

import uuid
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts.credentials.encryption import DecryptionError, decrypt, encrypt
from projects.credentials.encryption import HINT_LENGTH, SecretUnreadableError
from projects.rules.alerts import AlertKind, Way

KEPT_FOR = timedelta(days=14)
"""How long the log keeps messages that have ended, or that wait for a chat or for a user who may sign in."""

SECRET, ADDRESS = "secret", "address"
"""The names of the encrypted fields: a webhook's secret or a bot's token, and a webhook's address."""


class AlertChannel(models.Model):
    """A channel by which one user gets alerts. A webhook's address is a credential too: it lets its holder post there.

    `target` is the part of the destination that may be shown: the server of a webhook, or the chat of a bot. It is
    empty until there is one. `link_code` is the code that the user sends to the bot to link the chat.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="alert_channels")
    way = models.CharField(max_length=10, choices=Way, editable=False)
    crash = models.BooleanField(default=True, db_default=True)
    recovery = models.BooleanField(default=True, db_default=True)
    degraded = models.BooleanField(default=True, db_default=True)
    budget = models.BooleanField(default=True, db_default=True)
    service = models.BooleanField(default=False, db_default=False)
    target = models.CharField(max_length=300, blank=True, default="", db_default="", editable=False)
    address_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    secret_ciphertext = models.TextField(blank=True, default="", db_default="", editable=False)
    secret_hint = models.CharField(max_length=HINT_LENGTH, blank=True, default="", db_default="", editable=False)
    bot_username = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    link_code = models.CharField(max_length=32, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "way"], name="alert_channel_of_each_way")]

    def __str__(self) -> str:
        return f"{self.way} of {self.user_id}"

    @property
    def kinds(self) -> list[AlertKind]:
        return [kind for kind in AlertKind if getattr(self, kind)]

    @sensitive_variables("value")
    def encrypt(self, field: str, value: str) -> dict[str, Any]:
        """Returns the column to write for `SECRET` or `ADDRESS`."""
        return {f"{field}_ciphertext": encrypt(value, context=self.context_of(field))}

    def decrypt(self, field: str) -> str:
        """Returns the plaintext, or an empty text if none is stored.

        Raises `SecretUnreadableError`, also if a webhook has no secret to sign with.
        """
        ciphertext = getattr(self, f"{field}_ciphertext")
        if not ciphertext and (self.way, field) == (Way.WEBHOOK, SECRET):
            raise SecretUnreadableError(f"The webhook {self.pk} has no secret. Set its address again.")
        try:
            return decrypt(ciphertext, context=self.context_of(field)) if ciphertext else ""
        except DecryptionError:
            raise SecretUnreadableError(
                f"The {field} of the alerts {self.pk} cannot be decrypted. Put the key it was written with into "
                "BERTH_ENCRYPTION_KEYS."
            ) from None

    def context_of(self, field: str) -> dict[str, str]:
        return {"alerts": str(self.pk), "field": field}


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    REFUSED = "refused", "Refused"
    GIVEN_UP = "given up", "Given up"


class AlertDelivery(models.Model):
    """One message. Every attempt sends its id, so that a receiver can drop duplicates.

    `event_id` is None for a test message and for alerts about the service itself. `batched` counts later events that
    the message also covers; `facts` describe the newest one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.ForeignKey(AlertChannel, models.CASCADE, related_name="deliveries")
    event_id = models.PositiveBigIntegerField(null=True)
    project_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=10)
    facts = models.JSONField(default=dict)
    batched = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    last_answer = models.CharField(max_length=200, blank=True, default="")
    """The result of the last attempt, for the user: an HTTP status or a sentence."""

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [models.UniqueConstraint(fields=["channel", "event_id"], name="alert_told_once")]
        indexes = [
            models.Index(fields=["next_try_at"], condition=models.Q(state="waiting"), name="alert_by_next_try"),
            models.Index(fields=["channel", "-created_at"], name="alert_by_channel"),
            models.Index(fields=["ended_at"], name="alert_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.state}"


class Trouble(models.Model):
    """A project that has crashed or reports trouble, and has not been well again long enough to report its recovery.

    `since` is when the trouble began. `told` is the action of the event that reported it, or empty if none has yet.
    `well_since` is when the project became well again, or None if it is not well.
    """

    project_id: UUID
    project = models.OneToOneField("projects.Project", models.CASCADE, primary_key=True, related_name="trouble")
    since = models.DateTimeField(default=timezone.now)
    told = models.CharField(max_length=10, blank=True, default="")
    well_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"trouble of {self.project_id}"
