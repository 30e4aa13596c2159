"""The engine's clock differs from the service's.

The engine is a static program, so no library can change its clock. Instead, its answers and its requests are changed on
their way: every moment in them is that of its clock.
"""

import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from tests.chaos.clock import set_clock
from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation

_MOMENT = re.compile(rb"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?=[.Z])")
_SECONDS = re.compile(rb'("(?:time|Created|created)":)(1\d{9})\b')
_NANOSECONDS = re.compile(rb'("timeNano":)(1\d{18})\b')
_ASKED = re.compile(rb"\b((?:since|until)=)(1\d{9})\b")


SLEWS = timedelta(seconds=2)
"""The most by which a clock is wrong that is corrected little by little."""
SLEWED_EVERY = 0.02


class OtherClock:
    """A clock that is ahead `by` this much. Its changes keep the length, because an answer may be in progress."""

    def __init__(self, by: timedelta) -> None:
        self._by = by
        self._seconds = int(by.total_seconds())

    def request(self, text: bytes) -> bytes:
        return _ASKED.sub(lambda found: found[1] + b"%d" % (int(found[2]) - self._seconds), text)

    def answer(self, text: bytes) -> bytes:
        text = _MOMENT.sub(
            lambda found: (datetime.fromisoformat(found[0].decode()) + self._by).isoformat().encode(), text
        )
        text = _SECONDS.sub(lambda found: found[1] + b"%d" % (int(found[2]) + self._seconds), text)
        return _NANOSECONDS.sub(lambda found: found[1] + b"%d" % (int(found[2]) + self._seconds * 10**9), text)


def engine_stepping(by: timedelta) -> Breaking:
    @contextmanager
    def stepped(installation: Installation) -> Iterator[None]:
        installation.proxy.clock = OtherClock(by)
        try:
            yield
        finally:
            installation.proxy.clock = None

    return stepped


def stepping(by: timedelta) -> Breaking:
    @contextmanager
    def stepped(installation: Installation) -> Iterator[None]:
        set_clock(installation.clock, by)
        try:
            yield
        finally:
            set_clock(installation.clock)

    return stepped


@contextmanager
def slewed(installation: Installation) -> Iterator[None]:
    """It is corrected little by little, too far, and back: an hour is up to half as long or as short again."""
    over = threading.Event()

    def slew() -> None:
        began = time.monotonic()
        while not over.wait(SLEWED_EVERY):
            set_clock(installation.clock, SLEWS * math.sin((time.monotonic() - began) / 4))

    thread = threading.Thread(target=slew)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        set_clock(installation.clock)
