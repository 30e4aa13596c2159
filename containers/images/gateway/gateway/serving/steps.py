"""What a start takes long for, so that its log says why a gateway was away."""

import logging
import time

SLOW = 1.0
"""Seconds. All steps together take a few hundredths."""

logger = logging.getLogger(__name__)


class Steps:
    def __init__(self) -> None:
        self._began = time.monotonic()

    def note(self, what: str) -> None:
        """`what` it has done since the step before."""
        took, self._began = time.monotonic() - self._began, time.monotonic()
        if took >= SLOW:
            logger.warning("It took %.1f s %s.", took, what)
