"""How often a password may be tried: ten times in a row per account and address, then not for 15 minutes.

A try is counted before the password is checked, and by one conditional UPDATE, so that attackers who come at the same
moment share the ten. The window starts anew with each try: between two resets lie 15 minutes without any, so there
are never more than ten checks in any 15 minutes. A refused try does not prolong it.
"""

import hashlib
from datetime import timedelta
from ipaddress import IPv6Network, ip_network

from django.db.models import F
from django.utils import timezone

from accounts.emails import normalise_email
from accounts.errors import TooManyAttemptsError
from accounts.models import LoginCounter

LIMIT = 10
WINDOW = timedelta(minutes=15)


def claim_attempt(*, email: str, address: str | None) -> None:
    """Take one of the tries. Raises TooManyAttemptsError when none is left."""
    account, place = account_digest(email), _place(address)
    if _take(account, place):
        return
    now = timezone.now()
    fresh = LoginCounter(account=account, address=place, attempts=0, last_attempt_at=now)
    LoginCounter.objects.bulk_create([fresh], ignore_conflicts=True)
    counter = LoginCounter.objects.filter(account=account, address=place)
    counter.filter(last_attempt_at__lte=now - WINDOW).update(attempts=0, last_attempt_at=now)
    if not _take(account, place):
        last = counter.values_list("last_attempt_at", flat=True).first() or now
        raise TooManyAttemptsError(max(1, round((last + WINDOW - now).total_seconds())))


def forgive_attempts(*, email: str, address: str | None) -> None:
    """The password was right: what failed before was its owner's typing."""
    LoginCounter.objects.filter(account=account_digest(email), address=_place(address)).delete()
    LoginCounter.objects.filter(last_attempt_at__lte=timezone.now() - WINDOW).delete()


def account_digest(email: str) -> str:
    """Stands for an account that may not exist: what people type into the email field can be a password."""
    return hashlib.sha256(normalise_email(email).encode()).hexdigest()


def _take(account: str, place: str) -> bool:
    now = timezone.now()
    counter = LoginCounter.objects.filter(account=account, address=place, attempts__lt=LIMIT)
    return counter.filter(last_attempt_at__gt=now - WINDOW).update(attempts=F("attempts") + 1, last_attempt_at=now) > 0


def _place(address: str | None) -> str:
    """One customer of an IPv6 provider has a whole /64, which is 18 trillion million addresses."""
    if address is None:
        return "unknown"
    network = ip_network(address)
    return str(network.supernet(new_prefix=64)) if isinstance(network, IPv6Network) else address
