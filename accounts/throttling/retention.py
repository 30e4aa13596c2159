"""Selects the rows of accounts that no longer matter and may be deleted."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.models import ApiKey, KnownNetwork, LoginCounter, OpenSession, OutgoingMail, RevokedSession, UsageCounter
from accounts.models.outgoing_mail import ENDED_BADLY, ENDED_WELL, TRIED_FOR
from accounts.models.throttle import REVOCATIONS_KEPT_FOR
from accounts.moments import LIMITS_DIFFER, future
from accounts.throttling import counters
from accounts.throttling.known_networks import KEPT_FOR
from accounts.throttling.login_attempts import WINDOW
from accounts.throttling.rate_limits import PERIOD

CLOCKS_DIFFER = LIMITS_DIFFER
"""A machine whose clock is behind still needs rows that have expired for the other machines."""

REVOKED_KEYS_KEPT_FOR = timedelta(days=30)
EXPIRED_KEYS_KEPT_FOR = timedelta(days=365)
"""How long a key stays listed after it stopped working. Its owner sees the expired ones."""

SENT_KEPT_FOR = timedelta(days=7)
UNSENT_KEPT_FOR = timedelta(days=30)
MOST_ENDED = 10_000
"""How long, and how many, mails stay listed for the staff after they were sent or given up."""

WINDOW_SECONDS = {
    "failed_logins": int(WINDOW.total_seconds()),
    "sign-ups": 3600,
    "sign-up-mails": 3600,
    "email-changes": 3600,
    "exports": 3600,
    "new-email-mails": 3600,
    "code-alarms": 86_400,
    "invitations": 86_400,
    "invited": 86_400,
}
"""Window lengths of `UsageCounter`, by scope. Those of the request limits are `PERIOD`."""


def find_expired(now: datetime) -> Iterator[QuerySet[Any]]:
    """Yields the rows of each table that no longer matter at `now`."""
    yield UsageCounter.objects.filter(_windows_over(now - CLOCKS_DIFFER))
    yield LoginCounter.objects.filter(last_attempt_at__lte=now - WINDOW - CLOCKS_DIFFER)
    yield KnownNetwork.objects.filter(used_at__lte=now - KEPT_FOR - CLOCKS_DIFFER)
    yield OpenSession.objects.filter(ends_at__lte=now - CLOCKS_DIFFER)
    yield RevokedSession.objects.filter(expires_at__lte=now - REVOCATIONS_KEPT_FOR)
    yield LoginCounter.objects.filter(future("last_attempt_at", now=now, ahead=LIMITS_DIFFER))
    yield KnownNetwork.objects.filter(future("used_at", now=now, ahead=LIMITS_DIFFER))
    yield ApiKey.objects.filter(revoked_at__lte=now - REVOKED_KEYS_KEPT_FOR)
    yield ApiKey.objects.filter(expires_at__lte=now - EXPIRED_KEYS_KEPT_FOR)
    yield OutgoingMail.objects.filter(state__in=ENDED_WELL, ended_at__lte=now - SENT_KEPT_FOR)
    yield OutgoingMail.objects.filter(state__in=ENDED_BADLY, ended_at__lte=now - UNSENT_KEPT_FOR)
    # Mails wait this long only if the installation no longer sends any.
    yield OutgoingMail.objects.filter(ended_at=None, give_up_at__lte=now - TRIED_FOR - UNSENT_KEPT_FOR)
    newest = OutgoingMail.objects.exclude(ended_at=None).order_by("-ended_at").values_list("ended_at", flat=True)
    if (oldest_kept := newest[MOST_ENDED : MOST_ENDED + 1].first()) is not None:
        yield OutgoingMail.objects.filter(ended_at__lte=oldest_kept)


def _windows_over(at: datetime) -> Q:
    lengths = WINDOW_SECONDS | dict.fromkeys(settings.BERTH_LIMITS, PERIOD)
    over = Q()
    for scope, seconds in lengths.items():
        over |= Q(scope=scope, window__lt=counters.window_at(at, seconds))
    return over
