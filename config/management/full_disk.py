"""Reports a full disk in one sentence without a traceback, because it is not a defect of the program."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

from config.database.faults import Fault, find_fault
from config.environment.ownership import advise


@contextmanager
def explain_full_disk() -> Iterator[None]:
    """Raises `CommandError` if a file cannot be written or the database has no space left.

    Completed work is kept, and the next run of the command continues from there.
    """
    try:
        yield
    except BrokenPipeError:  # of the output, which has no disk
        raise
    except OSError as error:
        where, reason = error.filename or settings.BERTH_DATA_DIR, error.strerror or type(error).__name__
        raise CommandError(f"{where} cannot be written: {reason}. {advise(error)}") from None
    except DatabaseError as error:
        if find_fault(error) is not Fault.FULL:
            raise
        raise CommandError("The disk of the database is full. Free some space, then run this again.") from None
