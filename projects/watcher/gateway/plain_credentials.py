"""Encrypts credentials of servers that an older version of Berth stored in plain text, after an upgrade."""

import logging
import time
from uuid import UUID

from projects.services.credentials.plaintext import encrypt_plain

log = logging.getLogger(__name__)

AGAIN = 120.0
"""Seconds after the first pass. By then the last requests of the older version have ended."""

LATER = 60.0
"""Seconds until the next attempt after a failure."""


class PlainCredentials:
    """Goes through the projects twice, some in each step. After that there is nothing left to find."""

    def __init__(self) -> None:
        self._left = 2
        self._after: UUID | None = None
        self._next_at = 0.0

    def step(self) -> None:
        if not self._left or time.monotonic() < self._next_at:
            return
        try:
            self._after = encrypt_plain(after=self._after)
        except Exception as error:  # noqa: BLE001 - its message could quote a credential
            log.warning("Settings could not be searched for credentials; it is tried again: %s", type(error).__name__)
            self._next_at = time.monotonic() + LATER
            return
        if self._after is None:
            self._left -= 1
            self._next_at = time.monotonic() + AGAIN
