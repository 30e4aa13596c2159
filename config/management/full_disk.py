"""A full disk is no defect of the program, so commands say it in one sentence and show no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

from config.database.faults import Fault, find_fault


@contextmanager
def explain_full_disk() -> Iterator[None]:
    """Raises `CommandError` for a file that cannot be written, or a database that has no room left.

    What is done by then stays done, and the next run of the command goes on from there.
    """
    try:
        yield
    except OSError as error:
        where, reason = error.filename or settings.BERTH_DATA_DIR, error.strerror or type(error).__name__
        raise CommandError(f"{where} cannot be written: {reason}. Make room, then run this again.") from None
    except DatabaseError as error:
        if find_fault(error) is not Fault.FULL:
            raise
        raise CommandError("The disk of the database is full. Make room, then run this again.") from None
