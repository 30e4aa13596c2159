"""The rows by which requests are refused: revoked sessions, failed sign-ins, and usage counters."""

from datetime import datetime, timedelta

from django.db import models

REVOCATIONS_KEPT_FOR = timedelta(days=30)
"""How long after its end a revoked session is remembered. A clock that was ahead for weeks and steps back makes the
token valid again, but not the session.
"""


class RevokedSession(models.Model):
    """A session token that was revoked before it expired. Only its id is stored, until the token would have expired."""

    jti = models.CharField(max_length=32, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.jti


class LoginCounter(models.Model):
    """Failed attempts for one account from one client. The account may not exist, so only its digest is stored."""

    account = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_attempt_at: "models.DateTimeField[datetime, datetime]" = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "address"], name="login_counter_unique")]

    def __str__(self) -> str:
        return f"{self.account[:8]} from {self.address}: {self.attempts}"


class UsageCounter(models.Model):
    """How much of something a user or a client has used in the latest window of time. See `throttling.counters`."""

    subject = models.CharField(max_length=64)
    scope = models.CharField(max_length=20)
    window = models.PositiveBigIntegerField(help_text="Number of the time window, counted since 1970.")
    spent = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "scope"], name="usage_counter_unique")]

    def __str__(self) -> str:
        return f"{self.scope} of {self.subject[:8]}: {self.spent}"
