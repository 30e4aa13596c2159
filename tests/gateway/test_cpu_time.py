"""An answer with endless data to decompress lets other tasks run, and is charged for its processor time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.draining import Drained, drain
from gateway.pipes.forwarding import _pass_pieces
from gateway.pipes.leak_detector import SECONDS_PER_FORM, LeakDetector
from gateway.pipes.piece_filter import PieceFilter, TimedMeter
from gateway.pipes.upstream_connection import SHORT_READ, UpstreamConnection
from gateway.rules.rates import SECONDS_FOR_A_PIECE

pytestmark = pytest.mark.one_database

PIECES = 50


class Content:
    """Returns its pieces without suspending."""

    def __init__(self) -> None:
        self._left = [b"piece"] * PIECES

    async def readany(self) -> bytes:
        return self._left.pop() if self._left else b""

    async def iter_any(self) -> AsyncIterator[bytes]:
        while self._left:
            yield self._left.pop()


async def at_once(_piece: Any = b"") -> float:
    return 0.0


async def drain_pieces(answer: Any) -> None:
    paid = list[int]()

    def pay(size: int, _spent: float = 0.0, /) -> float:
        paid.append(size)
        return 1.0  # ignored

    assert await drain(answer, BlindMeter(), pay) is Drained.COMPLETE
    assert paid == [5] * PIECES


async def pass_pieces(answer: Any) -> None:
    piece_filter = PieceFilter(LeakDetector("secret"), BlindMeter(), lambda *_: 0.0)
    relay = SimpleNamespace(pay=lambda piece: piece_filter.pay(len(piece)), run=at_once)
    await _pass_pieces(answer, cast(Any, SimpleNamespace(write=at_once)), piece_filter, cast(Any, relay))


@pytest.mark.parametrize("work", [drain_pieces, pass_pieces])
def test_other_tasks_run_after_each_piece(work: Callable[[Any], Any]) -> None:
    async def scene() -> int:
        steps, is_over = 0, False

        async def beat() -> None:
            nonlocal steps
            while not is_over:
                steps += 1
                await asyncio.sleep(0)

        heart = asyncio.ensure_future(beat())
        await work(SimpleNamespace(content=Content(), content_type="text/plain"))
        is_over = True
        await heart
        return steps

    assert asyncio.run(scene()) >= PIECES


@pytest.fixture
def _seconds_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advances the processor clock by a second at each call, and stops the other clock."""
    seconds = iter(range(100))
    clocks = SimpleNamespace(monotonic=lambda: 0.0, thread_time=lambda: float(next(seconds)))
    for module in ("upstream_connection", "piece_filter"):
        monkeypatch.setattr(f"gateway.pipes.{module}.time", clocks)


@pytest.mark.usefixtures("_seconds_between_calls")
def test_continued_decompression_is_charged_without_new_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.pipes.upstream_connection.ResponseHandler.data_received", lambda *_: None)
    incoming = UpstreamConnection(cast(Any, SimpleNamespace(time=lambda: 0.0)))
    incoming.data_received(b"")
    assert incoming.cpu_time.take() == 1.0
    incoming.data_received(b"a little")
    assert incoming.cpu_time.take() == 0.0


@pytest.mark.usefixtures("_seconds_between_calls")
def test_the_time_that_a_meter_needs_for_a_long_piece_is_charged() -> None:
    timed_meter, paid = TimedMeter(BlindMeter()), list[float]()

    def pay(_size: int, spent: float = 0.0, /) -> float:
        paid.append(spent)
        return 0.0

    assert timed_meter.feed(b"a") == b"a"
    assert timed_meter.take() == 0.0
    timed_meter.feed(b"a" * (SHORT_READ + 1))
    assert timed_meter.take() == 1.0 - SECONDS_FOR_A_PIECE
    piece_filter = PieceFilter(LeakDetector("secret"), BlindMeter(), pay)
    piece_filter.feed(b"a" * (SHORT_READ + 1))
    piece_filter.pay(SHORT_READ + 1, 2.0)
    assert paid == [3.0 - SECONDS_FOR_A_PIECE]


def test_the_time_to_look_for_more_than_one_credential_is_charged() -> None:
    paid = list[float]()

    def pay(_size: int, spent: float = 0.0, /) -> float:
        paid.append(spent)
        return 0.0

    for secrets, more in ((("one-secret",), 0), (("Bearer one-secret", "one-secret"), 0), (("a/b", "c/d", "ef"), 6)):
        piece_filter = PieceFilter(LeakDetector(*secrets), BlindMeter(), pay)
        piece_filter.feed(b"a" * 100)
        piece_filter.pay(100)
        assert paid.pop() == pytest.approx(100 * more * SECONDS_PER_FORM)
