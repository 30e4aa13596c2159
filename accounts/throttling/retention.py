"""Which rows of accounts count for nothing any more, so that they may be deleted."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.models import KnownNetwork, LoginCounter, RevokedSession, UsageCounter
from accounts.throttling import counters
from accounts.throttling.known_networks import KEPT_FOR
from accounts.throttling.login_attempts import WINDOW
from accounts.throttling.rate_limits import PERIOD

CLOCKS_DIFFER = timedelta(minutes=5)
"""A machine whose clock is behind still needs rows that have expired for the others."""

WINDOW_SECONDS = {
    "failed_logins": int(WINDOW.total_seconds()),
    "sign-ups": 3600,
    "sign-up-mails": 3600,
    "code-alarms": 86_400,
}
"""Lengths of the windows of `UsageCounter`, by scope; those of the request limits are `PERIOD`."""


def find_expired(now: datetime) -> Iterator[QuerySet[Any]]:
    """Yields the rows of each table that count for nothing at `now`."""
    yield UsageCounter.objects.filter(_windows_over(now - CLOCKS_DIFFER))
    yield LoginCounter.objects.filter(last_attempt_at__lte=now - WINDOW - CLOCKS_DIFFER)
    yield KnownNetwork.objects.filter(used_at__lte=now - KEPT_FOR - CLOCKS_DIFFER)
    yield RevokedSession.objects.filter(expires_at__lte=now - CLOCKS_DIFFER)


def _windows_over(at: datetime) -> Q:
    lengths = WINDOW_SECONDS | dict.fromkeys(settings.BERTH_LIMITS, PERIOD)
    over = Q()
    for scope, seconds in lengths.items():
        over |= Q(scope=scope, window__lt=counters.window_at(at, seconds))
    return over
