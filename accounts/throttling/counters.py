"""Counters that all processes share: how much a subject has used of something in the current window of time.

A window is a number: how many lengths of it have passed since 1970. Only the latest window of each subject and scope
is kept, so there are as many rows as users, and an old row counts for nothing. Each change is one atomic statement.
"""

from datetime import datetime
from math import ceil

from django.db.models import F, Q

from accounts import clock
from accounts.models import UsageCounter


def window_at(moment: datetime, length: int) -> int:
    """Returns the window of `length` seconds that the moment is in."""
    return int(moment.timestamp() // length)


def current_window(length: int) -> int:
    """Returns the window of `length` seconds that it is now in."""
    return window_at(clock.now(), length)


def seconds_until_end(window: int, length: int) -> int:
    """Returns the seconds until the window of `length` seconds ends, rounded up, at least 1."""
    return max(1, ceil((window + 1) * length - clock.now().timestamp()))


def consume(*, subject: str, scope: str, window: int, limit: int, amount: int = 1) -> bool:
    """Counts the whole `amount` if the limit leaves room for it, else nothing. Returns whether it did.

    A machine whose clock is behind counts in the window that the others are in already.
    """
    counter = UsageCounter.objects.filter(subject=subject, scope=scope)
    room = counter.filter(_current(window), spent__lte=limit - amount)
    if room.update(spent=F("spent") + amount):
        return True
    if amount <= limit and counter.exclude(_current(window)).update(window=window, spent=amount):
        return True
    fresh = UsageCounter(subject=subject, scope=scope, window=window, spent=0)
    UsageCounter.objects.bulk_create([fresh], ignore_conflicts=True)
    return room.update(spent=F("spent") + amount) > 0


def give_back(*, subject: str, scope: str, window: int, amount: int = 1) -> None:
    """Takes back what was consumed in this window and turned out not to count."""
    counter = UsageCounter.objects.filter(subject=subject, scope=scope, window=window, spent__gte=amount)
    counter.update(spent=F("spent") - amount)


def count_spent(*, subject: str, scope: str, window: int) -> int:
    """Returns how much has been consumed in this window, or in a later one that others are in already."""
    counter = UsageCounter.objects.filter(_current(window), subject=subject, scope=scope)
    return counter.values_list("spent", flat=True).first() or 0


def forget_before(*, scope: str, window: int) -> None:
    """Deletes old counters of subjects that may never come again, such as addresses."""
    UsageCounter.objects.filter(scope=scope, window__lt=window).delete()


def _current(window: int) -> Q:
    """This window, or the next, in which a machine may be whose clock is ahead. One beyond was never: the clock that
    counted there has stepped back.
    """
    return Q(window__gte=window, window__lte=window + 1)
