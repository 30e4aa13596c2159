"""An upstream connection serves the next answer once all data has arrived, even if the agent has not read it."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gateway.pipes.upstream_connection import UpstreamConnection

from tests.gateway.relaying import HEAD, Scene, chunk, run

pytestmark = pytest.mark.one_database


async def reuse_connection(stage: Scene, reader: asyncio.StreamReader, resume: Callable[[], None]) -> None:
    """Ends the answer of the paused `reader` at the upstream, and relays another answer on the same connection."""
    upstream = stage.upstream
    stage.upstream.write(chunk(b"last") + b"0\r\n\r\n")
    other = await stage.begin()
    assert stage.upstream is upstream
    await stage.take(other, b"piece 1")
    await stage.take(other, b"piece 2")
    resume()
    await reader.readuntil(b"last\r\n0\r\n\r\n")
    await stage.take(other, b"piece 3")


def test_a_relay_that_waited_leaves_the_connection_to_its_new_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(stage: Scene) -> None:
        is_due = asyncio.Event()
        waiting = SimpleNamespace(sleep=lambda _seconds: is_due.wait(), timeout=asyncio.timeout)
        monkeypatch.setattr("gateway.pipes.forwarding.asyncio", waiting)
        stage.waits = [1.0]
        await reuse_connection(stage, await stage.begin(), is_due.set)

    run(scene)


def test_a_slow_reader_leaves_the_connection_to_its_new_owner() -> None:
    async def scene(stage: Scene) -> None:
        reader = await stage.begin()
        agent = stage.requests[0].protocol
        agent.pause_writing()
        for _ in range(2):
            stage.upstream.write(chunk(b"x" * 70_000))
        await reuse_connection(stage, reader, agent.resume_writing)

    run(scene)


def connected() -> UpstreamConnection:
    incoming = UpstreamConnection(cast(Any, SimpleNamespace(time=lambda: 0.0, call_later=lambda *_: None)))
    incoming.connection_made(cast(Any, SimpleNamespace(get_extra_info=lambda *_: None, close=lambda: None)))
    return incoming


def test_the_time_to_read_an_answer_is_charged_to_its_project() -> None:
    incoming, spent = connected(), []
    for _ in range(2):
        incoming.set_response_params(read_until_eof=True)
        spent.append(incoming.cpu_time)
        incoming.data_received(HEAD + chunk(b"x") * 9000 + b"0\r\n\r\n")
    first, second = (each.take() for each in spent)
    assert first > 0 < second
    assert spent[0].take() == 0


def test_one_byte_chunks_in_small_pieces_are_charged_for_their_time_too() -> None:
    spent = []
    for piece in (chunk(b"x" * 682), chunk(b"x") * 682):
        incoming = connected()
        incoming.set_response_params(read_until_eof=True)
        incoming.data_received(HEAD)
        for _ in range(50):
            incoming.data_received(piece)
        spent.append(incoming.cpu_time.take())
    assert spent[1] > 5 * spent[0] > 0


def test_an_answer_that_ends_with_its_head_is_charged_for_too() -> None:
    spent = []

    async def scene(stage: Scene) -> None:
        for piece in (chunk(b"x" * 5000), chunk(b"x") * 5000):
            stage.spent = 0.0
            await stage.begin(piece + b"0\r\n\r\n")
            spent.append(stage.spent)

    run(scene)
    assert spent[1] > 5 * spent[0] > 0
