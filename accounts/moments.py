"""Compares a stored moment with the present one. Pure functions, which every reader of a stored moment uses.

A clock may step back: by NTP, by an operator, after a boot with an empty battery. What was written before then lies in
the future, and would look fresh, or hold a lease, for as long as the step. So a moment in the future counts as never
written, and a lease that lasts longer than any lease is given for counts as over.
"""

from datetime import datetime, timedelta

from django.db.models import Q

CLOCKS_DIFFER = timedelta(seconds=1)
"""How far ahead a moment still counts as the present one: clocks of machines differ, and NTP steps them a little."""

LIMITS_DIFFER = timedelta(minutes=5)
"""The same for what limits the tries of a guesser: a small step of the clock gives nobody more tries."""


def is_future(moment: datetime | None, *, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> bool:
    return moment is not None and moment > now + ahead


def is_recent(moment: datetime | None, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> bool:
    """Whether the moment was at most `within` ago. It was not where it is None or in the future."""
    return moment is not None and now - within <= moment <= now + ahead


def lasts(until: datetime | None, *, at_most: timedelta, now: datetime) -> bool:
    """Whether a lease that was given for `at_most` still holds. It does not where it is None."""
    return until is not None and now < until <= now + at_most + CLOCKS_DIFFER


def future(field: str, *, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """As `is_future`, of a column."""
    return Q(**{f"{field}__gt": now + ahead})


def recent(field: str, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """As `is_recent`, of a column; without the moment that was exactly `within` ago."""
    return Q(**{f"{field}__gt": now - within, f"{field}__lte": now + ahead})


def over(field: str, *, at_most: timedelta, now: datetime) -> Q:
    """The contrary of `lasts`, of a column. It holds for no NULL."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + at_most + CLOCKS_DIFFER})


def not_recent(field: str, *, within: timedelta, now: datetime, ahead: timedelta = CLOCKS_DIFFER) -> Q:
    """The contrary of `recent`, of a column. It holds for NULL: what never was, was not recently."""
    return Q(**{f"{field}__lte": now - within}) | Q(**{f"{field}__gt": now + ahead}) | Q(**{field: None})
