"""Compares the keys of this server with those of other machines while it serves. Any of them may get new keys."""

import fcntl
import logging
import os
import time

from projects.services.credentials.shared_keys import find_unshared_key

log = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two comparisons."""

# Forked processes share it. The kernel gives its lock to one of them, and to another one after its end.
_TELLS = os.memfd_create("berth-keys")


class ComparedKeys:
    """Runs in each process of the web server, one of which reports. `/readyz` compares by itself."""

    def __init__(self) -> None:
        self._due = 0.0

    def compare(self) -> None:
        """Does nothing until a minute after the last time. Raises `DatabaseError`."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY
        name = find_unshared_key()
        if name and _is_to_tell():
            log.error(
                "%s differs from that of another machine which serves this database and was started later. Give all of "
                "them the same, and restart this one.",
                name,
            )


def _is_to_tell() -> bool:
    try:
        fcntl.lockf(_TELLS, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
