"""Compares a stored moment with the present one. Every reader of a stored moment uses these pure functions.

A clock may step back: by NTP, by an operator, or after a boot with an empty battery. A moment stored before then lies
in the future, and would look fresh, or hold a lease, for as long as the step. So a moment in the future counts as never
written, and a lease with more than its full time left counts as over.
"""

from datetime import datetime, timedelta
from math import ceil

from django.db.models import Q

CLOCKS_DIFFER = timedelta(seconds=1)
"""How far ahead a moment still counts as the present one: clocks of machines differ, and NTP steps them a little."""

LIMITS_DIFFER = timedelta(minutes=5)
"""The same for limits on the attempts of a guesser, so that a small step of the clock gives nobody more attempts."""


def is_future(moment: datetime | None, *, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> bool:
    return moment is not None and moment > now + ahead


def is_recent(moment: datetime | None, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> bool:
    """Returns whether the moment was at most `within` ago. False if it is None or in the future."""
    return moment is not None and now - within <= moment <= now + ahead


def lasts(until: datetime | None, *, at_most: timedelta, now: datetime) -> bool:
    """Returns whether a lease of at most `at_most` is still held. False if `until` is None."""
    return until is not None and now < until <= now + at_most + CLOCKS_DIFFER


def seconds_to_wait(left: timedelta) -> int:
    """Returns whole seconds, at least 1, for `Retry-After`: a client that waits exactly that long is let in."""
    return max(1, ceil(left.total_seconds()))


def future(field: str, *, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """Like `is_future`, for a column."""
    return Q(**{f"{field}__gt": now + ahead})


def recent(field: str, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """Like `is_recent`, for a column, but excludes the moment exactly `within` ago."""
    return Q(**{f"{field}__gt": now - within, f"{field}__lte": now + ahead})


def over(field: str, *, at_most: timedelta, now: datetime) -> Q:
    """The opposite of `lasts`, for a column. Excludes NULL."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + at_most + CLOCKS_DIFFER})


def not_recent(field: str, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """The opposite of `recent`, for a column. Includes NULL, because an event that never happened did not happen
    recently.
    """
    return Q(**{f"{field}__lte": now - within}) | Q(**{f"{field}__gt": now + ahead}) | Q(**{field: None})
