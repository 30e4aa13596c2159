"""An answer that comes before the end of its request reaches the agent, which mostly sends the whole request first."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from gateway.providers.call import MAX_AUDIO, MAX_REQUEST
from gateway.serving import connection_ends
from gateway.serving.connection_ends import LONGEST, MOST, Lingering
from gateway.telegram.call import LARGEST_UPLOAD

from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database

LARGE = b"x" * 8_000_000
TOO_LARGE = {"Content-Length": str(60 << 20)}
CHAT = "/llm/v1/chat/completions"


@pytest.mark.parametrize(
    ("path", "headers", "limits", "status"),
    [
        (CHAT, TOO_LARGE, {}, 413),
        (CHAT, {"Content-Encoding": "gzip"}, {}, 400),
        (CHAT, {"Authorization": "Bearer {virtual_token}"}, {}, 401),
        (CHAT, {}, {"requests": 0}, 429),
        ("/llm/v1/images/edits", {}, {}, 404),
        ("/tg/bot1:{virtual_token}/sendDocument", TOO_LARGE, {}, 413),
        ("/tg/bot1:{virtual_token}/setWebhook", {}, {}, 400),
        ("/tg/bot1:{virtual_token}/getUpdates", {}, {}, 413),
        ("/tg/bot1:{virtual_key}/sendDocument", {}, {}, 401),
        ("/out/{virtual_key}/0123456789abcdef", {}, {}, 401),
    ],
)
def test_the_sender_of_a_large_request_reads_why_it_was_refused(
    alice: Agent, path: str, headers: dict[str, str], limits: dict[str, int], status: int
) -> None:
    alice.gateway.apply(alice.entry(limits=limits))
    known = {"virtual_token": alice.virtual_token, "virtual_key": alice.virtual_key}
    given = alice.login | {name: value.format(**known) for name, value in headers.items()}
    assert alice.ask("POST", path.format(**known), LARGE, headers=given).status == status


def test_the_sender_of_too_many_chunks_reads_why_they_were_refused(alice: Agent) -> None:
    pieces = (b"x" * (1 << 20) for _ in range(34))
    with alice.connected() as connection:
        connection.request("POST", CHAT, pieces, alice.login, encode_chunked=True)
        assert connection.getresponse().status == 413


def answer_early(listening: socket.socket) -> None:
    """Answers one request before its end, as Telegram does for a file that is too large, and reads the rest."""
    connection, _ = listening.accept()
    with connection, suppress(ConnectionError):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntoo large")
        while connection.recv(65536):
            pass


def test_an_answer_that_telegram_gives_during_an_upload_is_passed_on(alice: Agent, threads: ThreadPoolExecutor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threads.submit(answer_early, listening)
        entry = alice.entry()
        entry["telegram"] |= {"base": f"http://127.0.0.1:{listening.getsockname()[1]}"}
        alice.gateway.apply(entry)
        answer = alice.ask("POST", f"/tg/bot1:{alice.virtual_token}/sendDocument", LARGE)
        assert (answer.status, answer.body) == (413, b"too large")
        answering.result(PATIENCE)


class Body:
    """A body of which each piece has a megabyte, and which has sent `ready` of them."""

    def __init__(self, ready: float) -> None:
        self.ready = ready
        self.pieces = 0

    @property
    def total_bytes(self) -> int:
        return self.pieces << 20

    def at_eof(self) -> bool:
        return False

    async def readany(self) -> bytes:
        if self.pieces >= self.ready:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        self.pieces += 1
        return b"x"


class Response:
    prepared = False
    closes = False

    def force_close(self) -> None:
        self.closes = True

    async def prepare(self, _request: object) -> None:
        self.prepared = True

    async def write_eof(self) -> None:
        pass


async def finish(lingering: Lingering, body: Body, address: str = "127.0.0.1") -> None:
    transport = SimpleNamespace(is_closing=lambda: False, get_extra_info=lambda _: (address, 1))
    request: Any = SimpleNamespace(content=body, transport=transport, method="POST")
    response: Any = Response()
    await lingering.finish(request, response)
    assert (response.prepared, response.closes) == (True, True)


def test_no_more_of_a_refused_request_is_read_than_the_largest_that_may_pass() -> None:
    body = Body(ready=inf)
    asyncio.run(finish(Lingering(), body))
    assert body.total_bytes == LONGEST >= max(LARGEST_UPLOAD, MAX_REQUEST, MAX_AUDIO)


@pytest.mark.parametrize(("limit", "ready", "longest"), [("SILENCE", 3, LONGEST), ("WITHIN", inf, inf)])
def test_a_slow_sender_and_an_endless_one_are_not_read_forever(
    monkeypatch: pytest.MonkeyPatch, limit: str, ready: float, longest: float
) -> None:
    monkeypatch.setattr(connection_ends, limit, 0.01)
    monkeypatch.setattr(connection_ends, "LONGEST", longest)
    asyncio.run(asyncio.wait_for(finish(Lingering(), Body(ready)), PATIENCE))


def test_the_rest_of_few_requests_of_one_address_is_read_at_a_time() -> None:
    async def scene() -> None:
        lingering = Lingering()
        reading = [asyncio.ensure_future(finish(lingering, Body(ready=0))) for _ in range(MOST)]
        await asyncio.sleep(0)
        excess, other = Body(ready=inf), Body(ready=inf)
        await finish(lingering, excess)
        assert not excess.pieces
        await finish(lingering, other, "127.0.0.2")
        assert other.total_bytes == LONGEST
        for each in reading:
            each.cancel()
        await asyncio.wait(reading)
        await finish(lingering, excess)
        assert excess.total_bytes == LONGEST
        assert not lingering._reading

    asyncio.run(scene())
