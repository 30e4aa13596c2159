"""By which ways users are told of their agents, and what became of each message."""

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
"""How long the log keeps a message that has ended, and one that waits for a chat or a user who may sign in."""

SECRET, ADDRESS = "secret", "address"
"""The names of what is encrypted: a webhook's secret or a bot's token, and a webhook's address."""


class AlertChannel(models.Model):
    """One way in which one user is told. A webhook's address is a credential, too: who has it can write there.

    `target` is what may be shown of where it goes: the server of a webhook, the chat of a bot. It is empty until there
    is one. `link_code` is what the user sends to the bot, which then knows the chat.
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
        """The column to write for `SECRET` or `ADDRESS`."""
        return {f"{field}_ciphertext": encrypt(value, context=self.context_of(field))}

    def decrypt(self, field: str) -> str:
        """Empty where there is none. Raises `SecretUnreadableError`, also where a webhook has none to sign with."""
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
    """One message. Its id goes with every try, so that a receiver can drop what it has already.

    `event_id` is None for a test, and for what is told of the service itself. `batched` events have come since the
    first that it is about, which it stands for, too. `facts` are those of the newest.
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
    """What came of the last try, for the user: a status, or a sentence."""

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
    """A project that has crashed or reports trouble, and is not yet well again for long enough to say so.

    `since` is when that began. `told` is the action of the event that tells of it, empty where none does yet.
    `well_since` is since when it has been well, None where it is not.
    """

    project_id: UUID
    project = models.OneToOneField("projects.Project", models.CASCADE, primary_key=True, related_name="trouble")
    since = models.DateTimeField(default=timezone.now)
    told = models.CharField(max_length=10, blank=True, default="")
    well_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"trouble of {self.project_id}"
