"""Neither an upstream nor another client can delay the end of a project's requests."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.fernet import Fernet
from gateway.pipes.draining import Drained
from gateway.pipes.piece_filter import BrokenError
from gateway.telegram.polling import NOTHING, poll
from gateway.telegram.polls import Polls

from containers.gateway.entries import Entry, ProviderEntry, ProviderKind
from containers.gateway.protocol import GatewayClient
from tests.fakes.streaming import StreamingProvider
from tests.gateway.in_thread import in_thread
from tests.gateway.process import PATIENCE
from tests.gateway.socket_transport import SocketTransport

pytestmark = pytest.mark.one_database
AT_ONCE = 30.0
"""Seconds: far more than the end takes, and far less than the upstream would make the test wait."""


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set while the rest of an answer is read whose agent has gone. The end does not wait for that."""
    from gateway.providers import call
    from gateway.serving import in_flight

    began, over = threading.Event(), threading.Event()

    async def drain(*_: object) -> Drained:
        began.set()
        while not over.is_set():
            await asyncio.sleep(0.005)
        return Drained.ENDLESS

    monkeypatch.setattr(call, "drain", drain)
    monkeypatch.setattr(in_flight, "CUT_WITHIN", 10 * PATIENCE)
    yield began
    over.set()


@pytest.fixture
def gateway(tmp_path: Path, counting: threading.Event) -> Iterator[tuple[int, GatewayClient]]:
    """Runs the gateway in this process. Yields its port and its control side."""
    from gateway.config import Config

    (tmp_path / "key").write_text(Fernet.generate_key().decode())
    config = Config(
        host="127.0.0.1", port=0, socket=tmp_path / "c", state=tmp_path / "s", key_file=tmp_path / "key", last_answers=0
    )
    with in_thread(config) as port:
        yield port, GatewayClient(SocketTransport(config.socket), within=AT_ONCE)


def test_a_void_credential_ends_a_flooding_answer(
    gateway: tuple[int, GatewayClient], provider: StreamingProvider, counting: threading.Event
) -> None:
    port, control = gateway
    key = ProviderEntry(virtual_key="bvk_v", key="sk-k", kind=ProviderKind.OPENAI, base=f"{provider.url}/v1")
    control.apply(version=1, entries=[Entry(project="alice", address=None, provider=key)])
    body = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
    head = "POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer bvk_v\r\n"
    provider.gate.clear()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as agent:
        agent.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert agent.recv(100).startswith(b"HTTP/1.1 200")
        control.apply(version=2, void=["alice"])
        assert counting.wait(PATIENCE), "What the answer has cost is still read."
        assert agent.recv(100000) is not None
    assert control.versions()["alice"].is_void


def run_polls(older: Callable[[asyncio.Event], Awaitable[web.StreamResponse]]) -> tuple[object, bytes]:
    """Returns the result of a poll that a newer one replaces, and the answer to the newer one."""

    async def answer(_answered: asyncio.Event) -> web.StreamResponse:
        return web.Response(body=b"new")

    async def both() -> tuple[object, bytes]:
        polls = Polls()
        first = asyncio.ensure_future(poll(polls, "bot", "p", older))
        await asyncio.sleep(0)
        async with asyncio.timeout(AT_ONCE):
            newer = await poll(polls, "bot", "p", answer)
            (came,) = await asyncio.gather(first, return_exceptions=True)
        assert isinstance(newer, web.Response)
        return came, bytes(newer.body)  # type: ignore[arg-type]  # bytes, as given

    return asyncio.run(both())


def test_a_poll_with_an_endless_answer_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def flood(answered: asyncio.Event) -> web.StreamResponse:
        answered.set()
        while True:
            await asyncio.sleep(0.001)

    came, newer = run_polls(flood)
    assert isinstance(came, BrokenError)
    assert newer == b"new"


def test_a_replaced_poll_gets_its_started_answer_or_an_empty_result() -> None:
    async def end(answered: asyncio.Event) -> web.StreamResponse:
        answered.set()
        await asyncio.sleep(0)
        return web.Response(body=b"old")

    async def wait(_answered: asyncio.Event) -> web.StreamResponse:
        await asyncio.sleep(10 * PATIENCE)
        raise AssertionError

    bodies = [came.body for came, _ in map(run_polls, (end, wait)) if isinstance(came, web.Response)]
    assert bodies == [b"old", NOTHING]
