"""Counters that all processes share: how much a subject has used of something in the current time window.

A window is a number: how many window lengths have passed since 1970. Only the latest window of each subject and scope
is stored, and an older row counts as zero. Each change is one atomic statement.
"""

from datetime import datetime
from math import ceil

from django.db.models import F, Q

from accounts import clock
from accounts.models import UsageCounter


def window_at(moment: datetime, length: int) -> int:
    """Returns the number of the window, `length` seconds long, that contains the moment."""
    return int(moment.timestamp() // length)


def current_window(length: int) -> int:
    """Returns the number of the current window of `length` seconds."""
    return window_at(clock.now(), length)


def seconds_until_end(window: int, length: int) -> int:
    """Returns the seconds until the window of `length` seconds ends, rounded up, at least 1."""
    return max(1, ceil((window + 1) * length - clock.now().timestamp()))


def consume(*, subject: str, scope: str, window: int, limit: int, amount: int = 1) -> bool:
    """Counts the whole `amount` if the limit allows it, and otherwise nothing. Returns whether it counted.

    A machine whose clock is behind counts in the window that the others have already reached.
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
    """Undoes what was consumed in this window and turned out not to count."""
    counter = UsageCounter.objects.filter(subject=subject, scope=scope, window=window, spent__gte=amount)
    counter.update(spent=F("spent") - amount)


def count_spent(*, subject: str, scope: str, window: int) -> int:
    """Returns how much has been consumed in this window, or in a later one that other machines have already reached."""
    counter = UsageCounter.objects.filter(_current(window), subject=subject, scope=scope)
    return counter.values_list("spent", flat=True).first() or 0


def forget_before(*, scope: str, window: int) -> None:
    """Deletes old counters of subjects that may never return, such as addresses."""
    UsageCounter.objects.filter(scope=scope, window__lt=window).delete()


def _current(window: int) -> Q:
    """Returns the condition for this window or the next one, which a machine may have reached whose clock is ahead. A
    later window was counted by a clock that has stepped back since, and is ignored.
    """
    return Q(window__gte=window, window__lte=window + 1)
