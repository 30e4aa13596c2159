"""How often a password, or a second factor's code, may be tried.

Ten times in a row per account and address, then not for 15 minutes; and per address 100 failures in 15 minutes, however
many accounts they are spread over. A code is tried by somebody who knows the password, so its ten are per account,
whatever the address: a million codes are few for whoever has a thousand addresses.

A try is counted before anything is checked, and by one conditional UPDATE, so that attackers who come at the same
moment share the ten. Their window starts anew with each try: between two resets lie 15 minutes without any, so there
are never more than ten checks in any 15 minutes. A refused try does not prolong it.
"""

import hashlib
from datetime import timedelta
from ipaddress import IPv6Network, ip_network

from django.db.models import F
from django.utils import timezone

from accounts.emails import normalise_email
from accounts.errors import TooManyAttemptsError
from accounts.models import LoginCounter, User
from accounts.throttling import counters

LIMIT = 10
WINDOW = timedelta(minutes=15)
ADDRESS_LIMIT = 100
_ADDRESS_SCOPE = "failed_logins"
_ANYWHERE = "anywhere"
_ROUNDS = 5
"""Somebody who gets in clears the counter away, at times just as somebody else begins to count on it."""


def check_limit(*, email: str, address: str | None) -> None:
    """Take one of the tries of a password. Raises TooManyAttemptsError when none is left."""
    place = _place(address)
    _claim(account_digest(email), place)
    window = _address_window()
    if not counters.consume(subject=place, scope=_ADDRESS_SCOPE, window=window, amount=1, limit=ADDRESS_LIMIT):
        raise TooManyAttemptsError(_seconds_left_for_addresses())


def reset_attempts(*, email: str, address: str | None) -> None:
    """The password was right: what failed before was its owner's typing, and this was no failure of the address."""
    place, window = _place(address), _address_window()
    _forgive(account_digest(email), place)
    counters.give_back(subject=place, scope=_ADDRESS_SCOPE, window=window, amount=1)
    counters.forget_before(scope=_ADDRESS_SCOPE, window=window)


def check_code_limit(*, user: User) -> None:
    """Take one of the tries of a code. Raises TooManyAttemptsError when none is left."""
    _claim(_code_digest(user), _ANYWHERE)


def reset_code_attempts(*, user: User) -> None:
    _forgive(_code_digest(user), _ANYWHERE)


def account_digest(email: str) -> str:
    """Stands for an account that may not exist: what people type into the email field can be a password."""
    return hashlib.sha256(normalise_email(email).encode()).hexdigest()


def _code_digest(user: User) -> str:
    """No email is spelled like this."""
    return hashlib.sha256(f"second factor of {user.pk}".encode()).hexdigest()


def _claim(account: str, place: str) -> None:
    counter = LoginCounter.objects.filter(account=account, address=place)
    for _ in range(_ROUNDS):
        if _take(account, place):
            return
        now = timezone.now()
        fresh = LoginCounter(account=account, address=place, attempts=0, last_attempt_at=now)
        LoginCounter.objects.bulk_create([fresh], ignore_conflicts=True)
        counter.filter(last_attempt_at__lte=now - WINDOW).update(attempts=0, last_attempt_at=now)
        if _take(account, place):
            return
        last = counter.filter(attempts__gte=LIMIT).values_list("last_attempt_at", flat=True).first()
        if last is not None:
            raise TooManyAttemptsError(max(1, round((last + WINDOW - now).total_seconds())))
    raise TooManyAttemptsError(1)


def _forgive(account: str, place: str) -> None:
    LoginCounter.objects.filter(account=account, address=place).delete()
    LoginCounter.objects.filter(last_attempt_at__lte=timezone.now() - WINDOW).delete()


def _take(account: str, place: str) -> bool:
    now = timezone.now()
    counter = LoginCounter.objects.filter(account=account, address=place, attempts__lt=LIMIT)
    return counter.filter(last_attempt_at__gt=now - WINDOW).update(attempts=F("attempts") + 1, last_attempt_at=now) > 0


def _address_window() -> int:
    return int(timezone.now().timestamp() // WINDOW.total_seconds())


def _seconds_left_for_addresses() -> int:
    length = int(WINDOW.total_seconds())
    return length - int(timezone.now().timestamp()) % length


def _place(address: str | None) -> str:
    """One customer of an IPv6 provider has a whole /64, which is 18 trillion million addresses."""
    if address is None:
        return "unknown"
    network = ip_network(address)
    return str(network.supernet(new_prefix=64)) if isinstance(network, IPv6Network) else address
