"""Mails that wait for the mail server, and the outcome of the others."""

import uuid
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from accounts import clock

TRIED_FOR = timedelta(days=3)
"""How long sending a mail is tried."""

FIRST_PAUSE = timedelta(minutes=1)
"""Longer than one attempt takes, so that no other process begins a second one meanwhile."""

LONGEST_PAUSE = timedelta(hours=1)


def give_up_time() -> datetime:
    return clock.now() + TRIED_FOR


class MailState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    SENT = "sent", "Sent"
    NOT_NEEDED = "not needed", "No longer needed"
    REFUSED = "refused", "Refused by the mail server"
    GIVEN_UP = "given up", "Given up after three days"


ENDED_WELL = (MailState.SENT, MailState.NOT_NEEDED)
ENDED_BADLY = (MailState.REFUSED, MailState.GIVEN_UP)


class OutgoingMail(models.Model):
    """The subject matter and recipient of a mail. Its text, with any link in it, is written when it is sent, and stored
    nowhere.

    `facts` contains nothing that the database does not show anyway. `user_id` is no foreign key, so that a mail does
    not prevent the deletion of a user.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20)
    user_id = models.UUIDField()
    facts = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=MailState, default=MailState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    give_up_at = models.DateTimeField(default=give_up_time)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        verbose_name = "outgoing mail"
        indexes = [
            models.Index(fields=["state", "next_try_at"], name="mail_by_next_try"),
            models.Index(fields=["state", "ended_at"], name="mail_by_end"),
            models.Index(fields=["created_at"], name="mail_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.state}"


def pause_after(attempts: int) -> timedelta:
    """Returns one minute after the first attempt, twice as long after each further one, and at most one hour."""
    return min(FIRST_PAUSE * (1 << min(max(attempts - 1, 0), 16)), LONGEST_PAUSE)
