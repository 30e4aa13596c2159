"""Logs the slow steps of a start, so that the log explains why the gateway was unavailable."""

import logging
import time

SLOW = 1.0
"""Seconds. All steps together take a few hundredths."""

logger = logging.getLogger(__name__)


class StartupLog:
    def __init__(self) -> None:
        self._began = time.monotonic()

    def note(self, what: str) -> None:
        """Ends a step. `what` completes the sentence "It took 2 s …", such as "to read its entries"."""
        took, self._began = time.monotonic() - self._began, time.monotonic()
        if took >= SLOW:
            logger.warning("It took %.1f s %s.", took, what)
