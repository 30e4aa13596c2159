"""What is done with each piece of an answer before it is passed on, in whichever way that is."""

import time
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from gateway.pipes.echo import Echo
from gateway.pipes.incoming import OF_A_BYTE, SHORT, Spent
from gateway.rules.rates import OF_A_PIECE

BEGUN = web.RequestKey("begun", bool)
"""Of a request: something of its answer may have been sent."""


class Meter(Protocol):
    unfinished: int

    def feed(self, piece: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


Pay = Callable[[int], float]
"""Is told the size of each piece, and says for how many seconds the next one has to wait."""


class PayFor(Protocol):
    def __call__(self, size: int, spent: float = 0.0, /) -> float:
        """As `Pay`. `spent`: seconds of the processor that it took beside what is reckoned by size."""


class BrokenError(Exception):
    """The answer has begun and cannot be brought to its end. The connection to the agent is cut."""


class ExceededError(BrokenError):
    """The answer is longer than was asked for, and than the budget allows."""

    def __init__(self, last: bytes) -> None:
        """`last` is what the agent is told yet."""
        super().__init__()
        self.last = last


class Metered:
    """A meter, and what it takes of the processor beside what each piece is reckoned to take: one can be thousands of
    events."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._spent = Spent()

    def feed(self, piece: bytes) -> bytes:
        is_short = len(piece) <= SHORT
        clock = time.monotonic if is_short else time.thread_time
        began = clock()
        passed = self._meter.feed(piece)
        took = clock() - began - OF_A_PIECE
        if took > 0:
            self._spent.add(min(took, len(piece) * OF_A_BYTE) if is_short else took)
        return passed

    def take(self) -> float:
        """Seconds since the last time."""
        return self._spent.take()


class Passage:
    def __init__(self, echo: Echo, meter: Meter, pay: PayFor, end: Callable[[], bytes]) -> None:
        """`end` says for each piece what is to be the last behind it; nothing while the answer may go on."""
        self._echo = echo
        self._meter = meter
        self._metered = Metered(meter)
        self._end = end
        self._pay = pay

    def pay(self, size: int, spent: float = 0.0) -> float:
        return self._pay(size, spent + self._metered.take())

    def feed(self, piece: bytes) -> bytes:
        """What of the piece may be passed on. Raises BrokenError."""
        # The piece that completes the credential is not sent, so that the agent never has the whole of it.
        if self._echo.is_in(piece):
            raise BrokenError
        passed = self._metered.feed(piece)
        if last := self._end():
            raise ExceededError(passed[: max(0, len(passed) - self._meter.unfinished)] + last)
        return passed
