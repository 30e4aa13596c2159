"""Limits the attempts at a password and at the code of a second factor.

Password: ten attempts in a row for each account and client, then none for 15 minutes; and 100 failures in 15 minutes
for each client, for all accounts together. Code: ten attempts for each account, from anywhere. Only someone who knows
the password can try codes, and a million codes are few for an attacker with a thousand addresses. Each network from
which the user has passed the second factor has ten attempts of its own, so that a thief of the password cannot lock the
user out.

An attempt is counted before anything is checked, by one conditional UPDATE, so that simultaneous attackers share the
ten. The 15 minutes start again with each attempt: between two resets there are 15 minutes without any attempt, so there
are never more than ten checks in any 15 minutes. A refused attempt does not prolong them.
"""

import hashlib
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from accounts import clock
from accounts.emails import normalise_email
from accounts.errors import TooManyAttemptsError
from accounts.http import client_network
from accounts.models import LoginCounter, User
from accounts.moments import LIMITS_DIFFER, not_recent, recent, seconds_to_wait
from accounts.throttling import counters
from accounts.throttling.known_networks import is_known_network

LIMIT = 10
WINDOW = timedelta(minutes=15)
ADDRESS_LIMIT = 100
_ADDRESS_SCOPE = "failed_logins"
_ADDRESS_WINDOW = int(WINDOW.total_seconds())
_ANYWHERE = "anywhere"
_ROUNDS = 100
"""Number of retries. A successful sign-in deletes the counter, sometimes just when another request begins to count on
it. With eight users of one account who sign in without a pause, this happened five times in a row."""


def check_limit(*, email: str, address: str | None) -> None:
    """Counts an attempt at the password. Raises TooManyAttemptsError if none is left.

    Counts for the address first, so that a blocked address creates no counters for accounts that may not exist.
    """
    client, window = client_network(address), counters.current_window(_ADDRESS_WINDOW)
    if not counters.consume(subject=client, scope=_ADDRESS_SCOPE, window=window, limit=ADDRESS_LIMIT):
        raise TooManyAttemptsError(counters.seconds_until_end(window, _ADDRESS_WINDOW))
    try:
        _consume_attempt(account_digest(email), client)
    except TooManyAttemptsError:
        counters.give_back(subject=client, scope=_ADDRESS_SCOPE, window=window)
        raise


def reset_attempts(*, email: str, address: str | None) -> None:
    """Clears the account's failures after the right password. The attempt that succeeded does not count against the
    client.
    """
    client, window = client_network(address), counters.current_window(_ADDRESS_WINDOW)
    _clear_attempts(account_digest(email), client)
    counters.give_back(subject=client, scope=_ADDRESS_SCOPE, window=window)
    counters.forget_before(scope=_ADDRESS_SCOPE, window=window)


def check_code_limit(*, user: User, address: str | None) -> None:
    """Counts an attempt at a code. Raises TooManyAttemptsError if none is left."""
    _consume_attempt(_code_digest(user), _place(user, address))


def are_codes_used_up(*, user: User, address: str | None) -> bool:
    """Returns whether the attempt that was just counted was the last one."""
    counter = LoginCounter.objects.filter(account=_code_digest(user), address=_place(user, address))
    return counter.filter(attempts__gte=LIMIT).exists()


def reset_code_attempts(*, user: User, address: str | None) -> None:
    """Clears the user's failures after a right code: those of a known network, or those of all unknown networks
    together.
    """
    _clear_attempts(_code_digest(user), _place(user, address))


def _place(user: User, address: str | None) -> str:
    """Returns the name under which attempts at a code are counted: the network if the user is known there, else
    anywhere.
    """
    return client_network(address) if is_known_network(user=user, address=address) else _ANYWHERE


def account_digest(email: str) -> str:
    """Returns the digest that identifies an account. It need not exist: people also type passwords into the email
    field.
    """
    return hashlib.sha256(normalise_email(email).encode()).hexdigest()


def _code_digest(user: User) -> str:
    """Returns the digest that identifies the codes of a user. It differs from that of any email."""
    return hashlib.sha256(f"second factor of {user.pk}".encode()).hexdigest()


def _consume_attempt(account: str, client: str) -> None:
    counter = LoginCounter.objects.filter(account=account, address=client)
    for _ in range(_ROUNDS):
        if _increment(account, client):
            return
        now = clock.now()
        if _start_counter(account, client, now):
            return
        counter.filter(_is_over(now)).update(attempts=0, last_attempt_at=now)
        if _increment(account, client):
            return
        last = counter.filter(attempts__gte=LIMIT).values_list("last_attempt_at", flat=True).first()
        if last is not None:
            raise TooManyAttemptsError(seconds_to_wait(min(last + WINDOW - now, WINDOW)))
    raise TooManyAttemptsError(1)


def _increment(account: str, client: str) -> bool:
    now = clock.now()
    counter = LoginCounter.objects.filter(account=account, address=client, attempts__lt=LIMIT)
    counts = recent("last_attempt_at", within=WINDOW, now=now, ahead=LIMITS_DIFFER)
    return counter.filter(counts).update(attempts=F("attempts") + 1, last_attempt_at=now) > 0


def _start_counter(account: str, client: str, now: datetime) -> bool:
    """Counts the first attempt. Returns False if a counter already exists."""
    try:
        with transaction.atomic():
            LoginCounter.objects.create(account=account, address=client, attempts=1, last_attempt_at=now)
    except IntegrityError:
        return False
    return True


def _clear_attempts(account: str, client: str) -> None:
    LoginCounter.objects.filter(account=account, address=client).delete()
    LoginCounter.objects.filter(_is_over(clock.now())).delete()


def _is_over(now: datetime) -> Q:
    return not_recent("last_attempt_at", within=WINDOW, now=now, ahead=LIMITS_DIFFER)
