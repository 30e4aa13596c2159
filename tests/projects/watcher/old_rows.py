"""Rows of any age in each table that retention prunes."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.models import (
    ApiKey,
    KnownNetwork,
    LoginCounter,
    MailState,
    OpenSession,
    OutgoingMail,
    RevokedSession,
    UsageCounter,
    User,
)
from projects.models import (
    AlertChannel,
    AlertDelivery,
    Batch,
    BatchItem,
    DeliveryState,
    Event,
    HourlyUsage,
    IdempotencyRecord,
    LongRequest,
    Sample,
)
from projects.rules.alerts import Way

Add = Callable[[User, datetime], Any]


def usage(scope: str, seconds: int) -> Add:
    def add(user: User, at: datetime) -> UsageCounter:
        window = int(at.timestamp() // seconds)
        return UsageCounter.objects.create(subject=uuid4().hex, scope=scope, window=window, spent=1)

    return add


def login_attempts(user: User, at: datetime) -> LoginCounter:
    return LoginCounter.objects.create(account=uuid4().hex, address="192.0.2.1", attempts=1, last_attempt_at=at)


def known_network(user: User, at: datetime) -> KnownNetwork:
    return KnownNetwork.objects.create(user=user, network=uuid4().hex, used_at=at)


def revoked_session(user: User, at: datetime) -> RevokedSession:
    return RevokedSession.objects.create(jti=uuid4().hex, expires_at=at)


def listed_session(user: User, at: datetime) -> OpenSession:
    return OpenSession.objects.create(user=user, kind="api", token=uuid4().hex, ends_at=at, session_version=1)


def dashboard_session(user: User, at: datetime) -> Session:
    return Session.objects.create(session_key=digest_session_key(uuid4().hex), session_data="", expire_date=at)


def undigested_session(user: User, at: datetime) -> Session:
    """One of an earlier version, stored under its key. It is deleted no matter how long it would have lived."""
    key = uuid4().hex if at < timezone.now() else digest_session_key(uuid4().hex)
    return Session.objects.create(session_key=key, session_data="", expire_date=timezone.now() + DAY / 4)


def idempotency_record(user: User, at: datetime) -> IdempotencyRecord:
    return IdempotencyRecord.objects.create(owner=user, key=uuid4().hex, project_id=uuid4(), created_at=at)


def long_request(user: User, at: datetime) -> LongRequest:
    return LongRequest.objects.create(owner=user, held_until=at)


def sample(minutes: int) -> Add:
    def add(_user: User, at: datetime) -> Sample:
        return Sample.objects.create(project_id=uuid4(), minutes=minutes, at=at, cpu=0, memory=0, received=0, sent=0)

    return add


def event(user: User, at: datetime) -> Event:
    return Event.objects.create(project_id=uuid4(), owner_id=user.pk, at=at, actor="a", source="s", action="stop")


def hour(user: User, at: datetime) -> HourlyUsage:
    return HourlyUsage.objects.create(project_id=uuid4(), owner_id=user.pk, hour=at, model="m", store="s")


def alert(**ended: DeliveryState) -> Add:
    def add(user: User, at: datetime) -> AlertDelivery:
        channel, _ = AlertChannel.objects.get_or_create(user=user, way=Way.WEBHOOK)
        return AlertDelivery.objects.create(channel=channel, created_at=at, ended_at=at if ended else None, **ended)

    return add


def batch(user: User, at: datetime) -> Batch:
    return Batch.objects.create(by=user, action="stop", created_at=at)


def batch_item(user: User, at: datetime) -> BatchItem:
    return BatchItem.objects.create(batch=batch(user, at), number=0, project_id=uuid4(), name="x")


def staff_action(user: User, at: datetime) -> LogEntry:
    return LogEntry.objects.create(user=user, action_flag=CHANGE, action_time=at, object_repr="x")


def ended_key(field: str) -> Add:
    def add(user: User, at: datetime) -> ApiKey:
        values = {"created_at": at - timedelta(days=30), "expires_at": at + timedelta(days=3000), field: at}
        return ApiKey.objects.create(user=user, name="k", scope="read", digest=uuid4().hex * 2, hint="h", **values)

    return add


def mail(state: MailState) -> Add:
    def add(user: User, at: datetime) -> OutgoingMail:
        values = {"give_up_at": at} if state == MailState.WAITING else {"ended_at": at}
        return OutgoingMail.objects.create(kind="agent", user_id=user.pk, state=state, **values)

    return add


NOW, MINUTE, DAY = timedelta(0), timedelta(minutes=1), timedelta(days=1)
MARGIN = 6 * MINUTE
"""A little more than clocks may differ."""

# For each table: ages at which a row is deleted, and at which it stays.
TABLES: dict[str, tuple[Add, timedelta, timedelta]] = {
    "requests of the last minute": (usage("reads", 60), MINUTE + MARGIN, NOW),
    "failed sign-ins of an address": (usage("failed_logins", 900), 15 * MINUTE + MARGIN, NOW),
    "sign-ups of an address": (usage("sign-ups", 3600), 60 * MINUTE + MARGIN, NOW),
    "failed sign-ins of an account": (login_attempts, 15 * MINUTE + MARGIN, 14 * MINUTE),
    "alarms of a user": (usage("code-alarms", 86_400), DAY + MARGIN, NOW),
    "invitations by one of the staff": (usage("invitations", 86_400), DAY + MARGIN, NOW),
    "invitations of a person": (usage("invited", 86_400), DAY + MARGIN, NOW),
    "networks that a user is known in": (known_network, 90 * DAY + MARGIN, 89 * DAY),
    "revoked sessions": (revoked_session, 30 * DAY + MINUTE, 29 * DAY),
    "sessions that are listed": (listed_session, MINUTE + MARGIN, -MINUTE),
    "sessions of the dashboard": (dashboard_session, MINUTE, -MINUTE),
    "sessions of an earlier version": (undigested_session, NOW, -MINUTE),
    "idempotency records": (idempotency_record, DAY + MINUTE, DAY - MINUTE),
    "leases of long requests": (long_request, MINUTE, -MINUTE),
    "mails that were sent": (mail(MailState.SENT), 7 * DAY + MINUTE, 7 * DAY - MINUTE),
    "mails that nobody needed": (mail(MailState.NOT_NEEDED), 7 * DAY + MINUTE, 7 * DAY - MINUTE),
    "mails that the server refused": (mail(MailState.REFUSED), 30 * DAY + MINUTE, 30 * DAY - MINUTE),
    "mails that were given up": (mail(MailState.GIVEN_UP), 30 * DAY + MINUTE, 30 * DAY - MINUTE),
    "mails that nobody sends": (mail(MailState.WAITING), 33 * DAY + MINUTE, 33 * DAY - MINUTE),
    "API keys that were revoked": (ended_key("revoked_at"), 30 * DAY + MINUTE, 30 * DAY - MINUTE),
    "API keys that have expired": (ended_key("expires_at"), 365 * DAY + MINUTE, 365 * DAY - MINUTE),
    "what staff did in the admin": (staff_action, 365 * DAY + MINUTE, 365 * DAY - MINUTE),
    "samples of a minute": (sample(1), DAY + 61 * MINUTE, DAY + 59 * MINUTE),
    "samples of a quarter of an hour": (sample(15), 8 * DAY + MINUTE, 8 * DAY - MINUTE),
    "hours of usage": (hour, 400 * DAY + MINUTE, 400 * DAY - MINUTE),
    "alerts that have ended": (alert(state=DeliveryState.DELIVERED), 14 * DAY + MINUTE, 14 * DAY - MINUTE),
    "alerts that wait": (alert(), 14 * DAY + MINUTE, 14 * DAY - MINUTE),
    "events": (event, 365 * DAY + MINUTE, 365 * DAY - MINUTE),
}

# The same for a table whose rows take others with them, or leave others that are deleted next.
BATCHES: dict[str, tuple[Add, timedelta, timedelta]] = {
    "actions on many projects": (batch, DAY + MINUTE, DAY - MINUTE),
    "projects of actions on many": (batch_item, DAY + MINUTE, DAY - MINUTE),
}
