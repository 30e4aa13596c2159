"""Leases for long requests, so that these never take all threads of the server.

A user holds at most five leases, counted in the database and so across all servers. Each process has a limited number
of places for all users, and reserves the last of them for users who have none.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import transaction
from django.db.utils import Error

from accounts import clock
from accounts.models import User
from accounts.moments import over
from projects.errors import NoPlaceError, TooManyStreamsError
from projects.models import LongRequest
from projects.models.processes.long_request import HELD_FOR
from projects.services.bulkheads import Places

PER_USER = 5


@contextmanager
def acquire_lease(owner: User, places: Places) -> Iterator[LongRequest]:
    """Holds a lease and one of the places. Raises `TooManyStreamsError` if none is left."""
    try:
        with places.take(owner.pk.hex):
            lease = _acquire(owner)
            try:
                yield lease
            finally:
                with suppress(Error):  # it expires in a minute
                    LongRequest.objects.filter(pk=lease.pk).delete()
    except NoPlaceError:
        raise _no_lease_left() from None


def renew(lease: LongRequest) -> None:
    """Extends the lease to `HELD_FOR` from now."""
    LongRequest.objects.filter(pk=lease.pk).update(held_until=clock.now() + HELD_FOR)


def _acquire(owner: User) -> LongRequest:
    now = clock.now()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # so that two requests cannot both take the last lease
        LongRequest.objects.filter(over("held_until", at_most=HELD_FOR, now=now), owner=owner).delete()
        if LongRequest.objects.filter(owner=owner).count() >= PER_USER:
            raise _no_lease_left()
        return LongRequest.objects.create(owner=owner, held_until=now + HELD_FOR)


def _no_lease_left() -> TooManyStreamsError:
    return TooManyStreamsError(
        f"Too many requests that last: at most {PER_USER} for each user. Close one, and try again."
    )
