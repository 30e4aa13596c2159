"""What is done with each piece of an answer before it is passed on, in whichever way that is."""

from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from gateway.pipes.echo import Echo

BEGUN = web.RequestKey("begun", bool)
"""Of a request: something of its answer may have been sent."""


class Meter(Protocol):
    unfinished: int

    def see(self, piece: bytes) -> bytes: ...
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


class Passage:
    def __init__(self, echo: Echo, meter: Meter, pay: PayFor, end: Callable[[], bytes]) -> None:
        """`end` says for each piece what is to be the last behind it; nothing while the answer may go on."""
        self._echo = echo
        self._meter = meter
        self._end = end
        self.pay = pay

    def see(self, piece: bytes) -> bytes:
        """What of the piece may be passed on. Raises BrokenError."""
        # The piece that completes the credential is not sent, so that the agent never has the whole of it.
        if self._echo.is_in(piece):
            raise BrokenError
        passed = self._meter.see(piece)
        if last := self._end():
            raise ExceededError(passed[: max(0, len(passed) - self._meter.unfinished)] + last)
        return passed
