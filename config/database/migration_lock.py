"""Lets only one process at a time migrate a database, even with several machines."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db.utils import Error

from config.database.limits import without_limits
from config.environment.ownership import open_owned

KEY = 0x6265727468  # "berth"
"""Key of the advisory lock. PostgreSQL keeps those of each database apart."""

PATIENCE = 600.0
"""Seconds to wait for another process that migrates."""

LOOK_EVERY = 0.2


@contextmanager
def migration_lock(connection: Any, *, patience: float = PATIENCE) -> Iterator[None]:
    """Holds the lock, which ends with the process. Raises `CommandError` if another process keeps it for `patience`
    seconds.
    """
    hold = _hold_in_server if connection.vendor == "postgresql" else _hold_file
    with without_limits(), hold(connection, time.monotonic() + patience):
        yield


@contextmanager
def _hold_in_server(connection: Any, until: float) -> Iterator[None]:
    own = connection.copy()  # because the connection that migrates may be closed and opened again
    try:
        with own.cursor() as cursor:
            _wait(lambda: _ask(cursor, "pg_try_advisory_lock"), until)
        yield
    finally:
        # The connection may return to a pool, where it would keep the lock.
        with suppress(Error), own.cursor() as cursor:
            _ask(cursor, "pg_advisory_unlock")
        own.close()


def _ask(cursor: Any, function: str) -> bool:
    cursor.execute(f"SELECT {function}(%s)", [KEY])
    return bool(cursor.fetchone()[0])


@contextmanager
def _hold_file(_connection: Any, until: float) -> Iterator[None]:
    descriptor = open_owned(Path(settings.BERTH_DATA_DIR) / "migrating.lock")
    try:
        _wait(lambda: _try_file(descriptor), until)
        yield
    finally:
        os.close(descriptor)


def _try_file(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(has: Callable[[], bool], until: float) -> None:
    while not has():
        if time.monotonic() > until:
            raise CommandError(
                "Another process is migrating this database and has not finished. Wait for it or end it, "
                "then run this again."
            )
        time.sleep(LOOK_EVERY)
