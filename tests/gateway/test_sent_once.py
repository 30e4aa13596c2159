"""A request is sent to its upstream once, whatever happens to its connection."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiohttp
import pytest
from gateway.pipes.upstream import ask, open_client
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.messages import Answer, Request
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]


class Upstream:
    """Answers /answered and keeps the connection. Reads any other request and closes the connection."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.connections: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        with suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(head.split(b" ")[1].decode())
                if self.asked[-1] != "/answered":
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()


def run(scene: Callable[[aiohttp.ClientSession, Upstream, str], Awaitable[None]]) -> None:
    async def play() -> None:
        upstream = Upstream()
        async with await asyncio.start_server(upstream.serve, "127.0.0.1", 0) as server, open_client() as client:
            await scene(client, upstream, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    asyncio.run(asyncio.wait_for(play(), PATIENCE))


async def status(client: aiohttp.ClientSession, method: str, url: str) -> int:
    async with ask(client, method, url, headers={}) as answer:
        return answer.status


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("before", [0, 1], ids=["new connection", "kept connection"])
def test_a_request_that_the_upstream_read_and_did_not_answer_is_not_repeated(method: str, before: int) -> None:
    async def scene(client: aiohttp.ClientSession, upstream: Upstream, url: str) -> None:
        for _ in range(before):
            assert await status(client, method, f"{url}/answered") == 200
        with pytest.raises(RefusedError) as refused:
            await status(client, method, f"{url}/lost")
        assert refused.value.why is Why.UPSTREAM
        assert upstream.asked.count("/lost") == 1
        assert len(upstream.connections) == 1

    run(scene)


@pytest.mark.parametrize("method", METHODS)
def test_a_connection_that_the_upstream_closed_while_idle_is_not_used(method: str) -> None:
    async def scene(client: aiohttp.ClientSession, upstream: Upstream, url: str) -> None:
        assert await status(client, method, f"{url}/answered") == 200
        ((kept, _),) = next(iter(client.connector._conns.values()))  # type: ignore[union-attr]  # it has a connector
        upstream.connections[0].close()
        while kept.is_connected():
            await asyncio.sleep(0)
        assert await status(client, method, f"{url}/answered") == 200
        assert len(upstream.connections) == 2

    run(scene)


def test_a_message_in_a_query_is_not_sent_twice(alice: Agent, telegram: FakeTelegram) -> None:
    def answer(request: Request) -> Answer | None:
        return Answer.json(200, {"ok": True, "result": {}}) if request.path.endswith("/getMe") else None

    telegram.answer = answer  # type: ignore[method-assign]  # only for this fake
    path = f"/tg/bot1:{alice.virtual_token}"
    assert alice.ask("GET", f"{path}/getMe").status == 200
    assert alice.ask("GET", f"{path}/sendMessage?chat_id=5&text=hi").status == 502
    assert telegram.requests[1:] == [("GET", f"/bot{alice.token}/sendMessage")]
