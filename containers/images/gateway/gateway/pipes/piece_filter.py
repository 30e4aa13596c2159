"""Checks, meters and paces each piece of an answer before it is passed on."""

import time
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from gateway.pipes.leak_detector import LeakDetector
from gateway.pipes.upstream_connection import SECONDS_PER_BYTE, SHORT_READ, CpuTime
from gateway.rules.rates import SECONDS_FOR_A_PIECE

MAX_UNREAD_SIZE = 4096
"""The most bytes that are passed on before they are read. To read small pieces one by one takes twice the processor
time, because other work empties its caches in between."""

BEGUN = web.RequestKey("begun", bool)
"""A request has this key if part of its answer may have been sent."""


class Meter(Protocol):
    unfinished: int

    @property
    def is_between_events(self) -> bool: ...

    def feed(self, piece: bytes) -> bytes: ...
    def finish(self) -> bytes: ...
    def passes_unchanged(self, piece: bytes, /) -> bool: ...


class LengthLimit(Protocol):
    """Decides how long an answer may become."""

    def check(self) -> bytes:
        """Runs after pieces were read. Empty bytes mean that the answer may continue; others are sent as its end."""

    def bytes_before_check(self) -> int:
        """Returns how many more bytes of the answer certainly do not exceed the limit."""


class NoLengthLimit:
    def check(self) -> bytes:
        return b""

    def bytes_before_check(self) -> int:
        return MAX_UNREAD_SIZE


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

    def feed_all(self, pieces: list[bytes]) -> None:
        """Feeds pieces that have been passed on unchanged."""
        began = time.thread_time()
        for piece in pieces:
            self._meter.feed(piece)
        self._cpu_time.add(max(0.0, time.thread_time() - began - len(pieces) * SECONDS_FOR_A_PIECE))

    def take(self) -> float:
        """Returns the seconds since the last call."""
        return self._cpu_time.take()


class PieceFilter:
    def __init__(
        self, leak_detector: LeakDetector, meter: Meter, pay: PayFor, length_limit: LengthLimit | None = None
    ) -> None:
        self._is_leak = leak_detector.is_completed_by
        self._seconds_per_byte = leak_detector.seconds_per_byte
        self._passes_unchanged = meter.passes_unchanged
        self._meter = meter
        self._timed_meter = TimedMeter(meter)
        self._length_limit = length_limit or NoLengthLimit()
        self._pay = pay
        self._unread: list[bytes] = []
        """Pieces that have been passed on unchanged. They are read and charged with the next piece that is not."""
        self._room = 0
        """How many more bytes may be passed on before they are read."""
        self._unpaid_size = 0
        self._unpaid_pieces = 0

    def pay(self, size: int, cpu_seconds: float = 0.0) -> float:
        """Charges a piece like `PayFor`, and those that have been passed on unread before it."""
        size, pieces, self._unpaid_size, self._unpaid_pieces = size + self._unpaid_size, self._unpaid_pieces, 0, 0
        cpu_seconds += pieces * SECONDS_FOR_A_PIECE + size * self._seconds_per_byte
        return self._pay(size, cpu_seconds + self._timed_meter.take())

    def passes_unread(self, piece: bytes) -> bool:
        """Whether the piece may be passed on now and read later, with the next one for which this is false.

        Requires that `feed` takes all other pieces. Raises BrokenError.
        """
        room = self._room - len(piece)
        if room < 0 or not self._passes_unchanged(piece):
            return False
        if self._is_leak(piece):
            raise BrokenError
        self._room = room
        self._unread.append(piece)
        return True

    def feed(self, piece: bytes) -> bytes:
        """Returns the part of the piece that may be passed on. Raises BrokenError."""
        # The piece that completes the credential is not sent, so the agent never gets the whole credential.
        if self._is_leak(piece):
            raise BrokenError
        self.read_rest()
        passed = self._timed_meter.feed(piece)
        if last := self._length_limit.check():
            raise ExceededError(passed[: max(0, len(passed) - self._meter.unfinished)] + last)
        may_wait = self._meter.is_between_events
        self._room = min(MAX_UNREAD_SIZE, self._length_limit.bytes_before_check()) if may_wait else 0
        return passed

    def read_rest(self) -> None:
        """Reads the pieces that have been passed on unread."""
        if not self._unread:
            return
        pieces, self._unread = self._unread, []
        self._unpaid_size += sum(map(len, pieces))
        self._unpaid_pieces += len(pieces)
        self._timed_meter.feed_all(pieces)

    def finish(self) -> bytes:
        """Returns the rest to pass on at the end of the answer."""
        self.read_rest()
        return self._meter.finish()

    def close(self) -> None:
        """Reads and charges what is left, so that the meter has read all pieces that were passed on."""
        self.read_rest()
        if self._unpaid_pieces:
            self.pay(0)
