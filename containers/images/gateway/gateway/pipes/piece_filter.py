"""Checks, meters and paces each piece of an answer before it is passed on."""

import time
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from gateway.pipes.leak_detector import LeakDetector
from gateway.pipes.upstream_connection import SECONDS_PER_BYTE, SHORT_READ, CpuTime
from gateway.rules.rates import SECONDS_FOR_A_PIECE

BEGUN = web.RequestKey("begun", bool)
"""A request has this key if part of its answer may have been sent."""


class Meter(Protocol):
    unfinished: int

    def feed(self, piece: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


Pay = Callable[[int], float]
"""Charges a piece of this size. Returns the seconds for which the next piece must wait."""


class PayFor(Protocol):
    def __call__(self, size: int, cpu_seconds: float = 0.0, /) -> float:
        """Does the same as `Pay`. `cpu_seconds` is processor time that is charged in addition to the size."""


class BrokenError(Exception):
    """The answer has begun and cannot be completed, so the connection to the agent is closed."""


class ExceededError(BrokenError):
    """The answer is longer than requested and longer than the budget allows."""

    def __init__(self, last: bytes) -> None:
        """`last` is the last data to send to the agent: an error in the format of the stream."""
        super().__init__()
        self.last = last


class TimedMeter:
    """Measures the processor time that a meter takes beyond the flat charge per piece, `SECONDS_FOR_A_PIECE`.

    A single piece can contain thousands of events.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._cpu_time = CpuTime()

    def feed(self, piece: bytes) -> bytes:
        is_short = len(piece) <= SHORT_READ
        clock = time.monotonic if is_short else time.thread_time
        began = clock()
        passed = self._meter.feed(piece)
        took = clock() - began - SECONDS_FOR_A_PIECE
        if took > 0:
            self._cpu_time.add(min(took, len(piece) * SECONDS_PER_BYTE) if is_short else took)
        return passed

    def take(self) -> float:
        """Returns the seconds since the last call."""
        return self._cpu_time.take()


class PieceFilter:
    def __init__(self, leak_detector: LeakDetector, meter: Meter, pay: PayFor, end: Callable[[], bytes]) -> None:
        """Calls `end` after each piece. Empty bytes mean that the answer may continue; others are sent as its end."""
        self._leak_detector = leak_detector
        self._meter = meter
        self._timed_meter = TimedMeter(meter)
        self._end = end
        self._pay = pay

    def pay(self, size: int, cpu_seconds: float = 0.0) -> float:
        return self._pay(size, cpu_seconds + self._timed_meter.take())

    def feed(self, piece: bytes) -> bytes:
        """Returns the part of the piece that may be passed on. Raises BrokenError."""
        # The piece that completes the credential is not sent, so the agent never gets the whole credential.
        if self._leak_detector.is_completed_by(piece):
            raise BrokenError
        passed = self._timed_meter.feed(piece)
        if last := self._end():
            raise ExceededError(passed[: max(0, len(passed) - self._meter.unfinished)] + last)
        return passed
