"""A relay passes on pieces the moment they arrive, and still handles leaks, errors and slow or fast peers."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.pipes.piece_filter import BrokenError
from gateway.pipes.relay import Relay
from gateway.pipes.upstream_connection import UpstreamConnection
from gateway.rules.refusals import RefusedError

from tests.gateway.relaying import Scene, chunk, run

pytestmark = pytest.mark.one_database


LINES = pytest.mark.parametrize("end", [b"", b"\n"], ids=["any", "lines"])
"""Chunks that end with a line feed are passed on unchanged."""


@LINES
def test_no_task_is_woken_for_each_piece(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    goes = []

    async def run_relay(self: Relay, before: Any = Relay.run) -> float:
        goes.append(self)
        return float(await before(self))

    monkeypatch.setattr(Relay, "run", run_relay)

    async def scene(stage: Scene) -> None:
        for _ in range(2):  # the second answer uses the same connection to the upstream
            reader = await stage.begin()
            for number in range(20):
                await stage.take(reader, b"piece %d" % number + end)
            stage.upstream.write(b"0\r\n\r\n")
            await reader.readuntil(b"0\r\n\r\n")
            stage.agent.close()
        assert stage.ends == [None, None]
        assert len(goes) == 2

    run(scene)


def test_a_credential_split_over_two_pieces_does_not_pass() -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        await stage.take(reader, b"key: sk-the-re")
        stage.upstream.write(chunk(b"al-one"))
        assert b"al" not in await reader.read()
        assert isinstance(stage.ends[0], BrokenError)

    run(scene)


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_an_answer_ended_by_closing_the_connection_is_complete(version: bytes) -> None:
    async def scene(stage: Scene) -> None:
        reader, stage.agent = await asyncio.open_connection("127.0.0.1", stage.port)
        stage.agent.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        stage.upstream = await stage.asked.get()
        stage.opened += [stage.agent, stage.upstream]
        stage.upstream.write(b"HTTP/%b 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n" % version)
        assert (await reader.readuntil(chunk(b"data: {}\n\n"))).startswith(b"HTTP/1.1 200 OK")
        stage.upstream.write(b"data: [DONE]\n\n")
        await stage.upstream.drain()
        stage.upstream.close()
        assert await reader.readuntil(b"0\r\n\r\n") == chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
        assert stage.ends == [None]

    run(scene)


@pytest.mark.parametrize("last", [b"", b"zz\r\n", b"5\r\nha"])
def test_an_upstream_that_breaks_off_ends_the_answer_before_its_time(last: bytes) -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        await stage.take(reader, b"piece")
        stage.upstream.write(last)
        stage.upstream.close()
        assert b"0\r\n\r\n" not in await reader.read()
        assert isinstance(stage.ends[0], BrokenError)

    run(scene)


@LINES
def test_an_agent_that_stops_reading_pauses_the_upstream_and_gets_everything_later(end: bytes) -> None:
    piece, count = b"x" * 50_000 + end, 250

    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        reader._transport.pause_reading()  # type: ignore[attr-defined]  # reads nothing from the kernel
        for _ in range(count):
            stage.upstream.write(chunk(piece))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stage.upstream.drain(), 0.2)
        reader._transport.resume_reading()  # type: ignore[attr-defined]  # as above
        stage.upstream.write(b"0\r\n\r\n")
        came = await reader.readuntil(b"\r\n0\r\n\r\n")
        assert came.count(b"x") == 50_000 * count
        assert stage.ends == [None]

    run(scene)


@LINES
def test_an_upstream_that_sends_too_fast_is_paused_and_loses_nothing(end: bytes) -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        stage.waits = [0.01] * 5
        for number in range(20):
            await stage.take(reader, b"piece %d" % number + end)
        assert not stage.waits

    run(scene)


def test_an_answer_in_one_byte_chunks_is_charged_for_its_processing_time() -> None:
    spent = []

    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        for data in (chunk(b"x" * 60_000), chunk(b"x") * 60_000):
            stage.spent = 0.0
            stage.upstream.write(data)
            came = 0
            while came < 60_000:
                came += (await reader.read(2**16)).count(b"x")
            spent.append(stage.spent)

    run(scene)
    assert spent[1] > 5 * spent[0]


def test_an_upstream_that_sends_informational_answers_forever_is_abandoned() -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        stage.upstream.write(b"0\r\n\r\n")
        await reader.readuntil(b"0\r\n\r\n")
        stage.agent.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        upstream = await stage.asked.get()  # on the same connection
        while len(stage.ends) < 2:
            upstream.write(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)
            await asyncio.sleep(0.001)
        assert isinstance(stage.ends[1], RefusedError)

    run(scene)


@LINES
def test_an_agent_that_disconnects_ends_its_relay(end: bytes) -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        await stage.take(reader, b"piece" + end)
        stage.agent.transport.abort()
        while not stage.ends:
            stage.upstream.write(chunk(b"more" + end))
            await asyncio.sleep(0.001)

    run(scene)


def test_one_timer_measures_the_silence_since_the_last_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[tuple[float, Callable[[], None]]] = []
    silences: list[float] = []
    clock = [0.0]

    def call_later(after: float, act: Callable[[], None]) -> str:
        timers.append((clock[0] + after, act))
        return "timer"

    monkeypatch.setattr(
        "gateway.pipes.upstream_connection.ResponseHandler.set_exception", lambda *_: silences.append(clock[0])
    )
    incoming = UpstreamConnection(cast(Any, SimpleNamespace(time=lambda: clock[0], call_later=call_later)))
    incoming.read_timeout = 10.0
    for clock[0] in (0.0, 4.0, 9.0):
        incoming.start_timeout()
    for _ in range(2):
        ((clock[0], act),) = timers
        timers.clear()
        act()
    assert silences == [19.0]
    assert not timers
