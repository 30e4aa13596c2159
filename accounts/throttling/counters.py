"""Counts that all workers share: how much a subject has used in a window of time. Each claim is one atomic statement.

A window is a number, such as the minutes since 1970. Of each subject and scope only the latest window is kept, so the
rows are as many as the users, and an old one counts for nothing.
"""

from django.db.models import F

from accounts.models import UsageCounter


def consume(*, subject: str, scope: str, window: int, amount: int, limit: int) -> bool:
    """Take `amount` out of `limit`, whole or not at all.

    A machine whose clock is behind takes from the window that the others are in already.
    """
    counter = UsageCounter.objects.filter(subject=subject, scope=scope)
    room = counter.filter(window__gte=window, spent__lte=limit - amount)
    if room.update(spent=F("spent") + amount):
        return True
    if amount <= limit and counter.filter(window__lt=window).update(window=window, spent=amount):
        return True
    fresh = UsageCounter(subject=subject, scope=scope, window=window, spent=0)
    UsageCounter.objects.bulk_create([fresh], ignore_conflicts=True)
    return room.update(spent=F("spent") + amount) > 0


def give_back(*, subject: str, scope: str, window: int, amount: int) -> None:
    """What was claimed in this window turns out not to count."""
    counter = UsageCounter.objects.filter(subject=subject, scope=scope, window=window, spent__gte=amount)
    counter.update(spent=F("spent") - amount)


def count_spent(*, subject: str, scope: str, window: int) -> int:
    counter = UsageCounter.objects.filter(subject=subject, scope=scope, window__gte=window)
    return counter.values_list("spent", flat=True).first() or 0


def forget_before(*, scope: str, window: int) -> None:
    """Clear away the counters of subjects that may never come again, such as addresses."""
    UsageCounter.objects.filter(scope=scope, window__lt=window).delete()
