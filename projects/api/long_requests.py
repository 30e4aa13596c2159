"""Bounds for requests that last, so that they never take all of the server's threads.

At most five for each user, counted in the database and so over all servers, and a quarter of the threads in each
process, whoever asks.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from projects.errors import TooManyStreamsError
from projects.models import LongRequest

PER_USER = 5
HELD_FOR = timedelta(seconds=60)
"""How long a lease counts without being renewed: four keep-alives."""

_places = threading.BoundedSemaphore(max(1, settings.BERTH_THREADS // 4))


@contextmanager
def acquire_lease(owner: User) -> Iterator[LongRequest]:
    """Hold a place, which `renew` keeps. Raises `TooManyStreamsError` where there is none."""
    places = _places
    if not places.acquire(blocking=False):
        raise _none_free()
    try:
        lease = _acquire(owner)
        try:
            yield lease
        finally:
            LongRequest.objects.filter(pk=lease.pk).delete()
    finally:
        places.release()


def renew(lease: LongRequest) -> None:
    LongRequest.objects.filter(pk=lease.pk).update(held_until=timezone.now() + HELD_FOR)


def _acquire(owner: User) -> LongRequest:
    now = timezone.now()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # so that two cannot both take the last one
        LongRequest.objects.filter(owner=owner, held_until__lte=now).delete()
        if LongRequest.objects.filter(owner=owner).count() >= PER_USER:
            raise _none_free()
        return LongRequest.objects.create(owner=owner, held_until=now + HELD_FOR)


def _none_free() -> TooManyStreamsError:
    return TooManyStreamsError(
        f"Too many requests that last: at most {PER_USER} for each user. Close one, and try again."
    )
