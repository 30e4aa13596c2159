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
from projects.models import Slot

PER_USER = 5
HELD_FOR = timedelta(seconds=60)
"""How long a slot counts without being renewed: four keep-alives."""

_places = threading.BoundedSemaphore(max(1, settings.BERTH_THREADS // 4))


@contextmanager
def hold_slot(owner: User) -> Iterator[Slot]:
    """Hold a place, which `renew` keeps. Raises `TooManyStreamsError` where there is none."""
    places = _places
    if not places.acquire(blocking=False):
        raise _none_free()
    try:
        slot = _claim(owner)
        try:
            yield slot
        finally:
            Slot.objects.filter(pk=slot.pk).delete()
    finally:
        places.release()


def renew(slot: Slot) -> None:
    Slot.objects.filter(pk=slot.pk).update(held_until=timezone.now() + HELD_FOR)


def _claim(owner: User) -> Slot:
    now = timezone.now()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # so that two cannot both take the last one
        Slot.objects.filter(owner=owner, held_until__lte=now).delete()
        if Slot.objects.filter(owner=owner).count() >= PER_USER:
            raise _none_free()
        return Slot.objects.create(owner=owner, held_until=now + HELD_FOR)


def _none_free() -> TooManyStreamsError:
    return TooManyStreamsError(
        f"Too many requests that last: at most {PER_USER} for each user. Close one, and try again."
    )
