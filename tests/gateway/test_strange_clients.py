"""Unusual ways to use HTTP are handled as the client means them, or refused."""

import asyncio
import time
from itertools import chain, repeat

import pytest
from aiohttp import web
from gateway.pipes.agent_connection import SECONDS_PER_REQUEST
from gateway.pipes.guard import GuardedServer
from gateway.pipes.leak_detector import LeakDetector, forms_of
from gateway.rules.cpu_share import BURST, CpuShare
from gateway.rules.throttle import Throttle

from tests.fakes.messages import Answer
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database

BODY = b'{"model":"m","messages":[],"stream":true}'


def request(agent: Agent, *, version: str = "1.1", more: str = "", body: bytes = BODY) -> bytes:
    head = f"POST /llm/v1/chat/completions HTTP/{version}\r\nHost: a\r\nAuthorization: Bearer {agent.virtual_key}\r\n"
    return f"{head}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_stream_to_an_http_1_0_client_ends_with_its_connection(alice: Agent) -> None:
    answer = alice.send(request(alice, version="1.0", more="Connection: keep-alive\r\n"))
    assert answer.startswith(b"HTTP/1.0 200")
    assert answer.endswith(b"data: [DONE]\n\n")
    assert b"chunked" not in answer


@pytest.mark.parametrize("version", ["0.9", "2.0"])
def test_an_unknown_http_version_is_refused(alice: Agent, provider: StreamingProvider, version: str) -> None:
    assert b" 400 " in alice.send(request(alice, version=version)).partition(b"\r\n")[0]
    assert not provider.requests


def test_only_a_client_that_expects_it_gets_100_continue(alice: Agent) -> None:
    more = "Expect: 100-continue\r\nConnection: close\r\n"
    assert alice.send(request(alice, more=more)).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
    assert alice.send(request(alice, version="1.0", more=more)).startswith(b"HTTP/1.0 200")


@pytest.mark.parametrize("status", [101, 304, 600, 999])
def test_an_informational_status_is_not_passed_on(
    alice: Agent, provider: StreamingProvider, telegram: FakeTelegram, status: int
) -> None:
    provider.answer_with = Answer(status, b"")
    assert alice.chat().status == 502
    telegram.answer = lambda _request: Answer(status, b"")  # type: ignore[method-assign, assignment]  # only for this fake
    assert alice.bot("getMe").status == 502


def test_chunk_extensions_and_trailers_are_read_at_the_rate_of_their_address(
    alice: Agent, provider: StreamingProvider
) -> None:
    """Only the parser sees them."""
    chunk = b"%x;a=%s\r\n%s\r\n0\r\nX-Late: a\r\n\r\n" % (len(BODY), b"x" * 30_000, BODY)
    head = request(alice, more="Connection: close\r\nTransfer-Encoding: chunked\r\n").partition(b"Content-Length")[0]
    assert alice.send(head + b"\r\n" + chunk).startswith(b"HTTP/1.1 200")
    assert len(provider.sales) == 1


class Transport(asyncio.Transport):
    is_paused = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 5) if name == "peername" else default

    def write(self, _data: bytes | bytearray | memoryview) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...
    def is_closing(self) -> bool:
        return False


def test_an_address_that_has_taken_its_share_is_not_read_until_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = chain([0.0], repeat(5.01))  # the time for the first piece; five seconds may be used at once
    monkeypatch.setattr("gateway.pipes.agent_connection.time.thread_time", lambda: next(processor))

    async def send() -> None:
        share = CpuShare(1.0, time.monotonic)
        throttle = Throttle(9, time.monotonic)
        server = GuardedServer(nobody, most=9, throttle=throttle, block=lambda *_: None, share=share)
        connection, transport = server(), Transport()
        connection.connection_made(transport)
        connection.data_received(b"GET / HTTP/1.1\r\n")
        assert transport.is_paused
        connection.resume_reading()  # reading a body does the same, and must not end the pause
        assert transport.is_paused
        share.take("127.0.0.1", 10**9)  # the time used by other connections does not postpone this one's turn
        while transport.is_paused:
            await asyncio.sleep(0.001)
        connection.connection_lost(None)

    asyncio.run(asyncio.wait_for(send(), PATIENCE))


def test_the_time_to_receive_bytes_is_charged_to_the_address_across_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.pipes.agent_connection.time.thread_time", lambda: 0.0)

    async def send() -> None:
        share = CpuShare(1.0, lambda: 1000.0)
        throttle = Throttle(9, time.monotonic)
        server = GuardedServer(nobody, most=9, throttle=throttle, block=lambda *_: None, share=share)
        (first, transport), (other, beside) = [(server(), Transport()) for _ in range(2)]
        first.connection_made(transport)
        first.data_received(b"GET / HTTP/1.1\r\nA: ")
        assert not transport.is_paused
        share.take("127.0.0.1", 5.0)  # as much as may be used at once
        other.connection_made(beside)
        other.data_received(b"GET / HTTP/1.0\r\n\r\n")
        assert beside.is_paused
        assert not other._request_count
        while beside.is_paused:
            await asyncio.sleep(0.001)
        assert other._request_count == 1
        for connection in (first, other):
            connection.connection_lost(None)

    asyncio.run(asyncio.wait_for(send(), PATIENCE))


@pytest.mark.parametrize("at_once", [1, 3, 10])
def test_each_request_is_charged_to_its_address(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers it is a task, whose processor time is not measured. Many small requests would cost nothing."""
    monkeypatch.setattr("gateway.pipes.agent_connection.time.thread_time", lambda: 0.0)

    async def answer(_request: object) -> web.StreamResponse:
        return web.Response()

    async def send() -> int:
        """Returns how many requests are read before one waits."""
        share = CpuShare(0.03, lambda: 1000.0)
        throttle = Throttle(9, time.monotonic)
        server = GuardedServer(answer, most=9, throttle=throttle, block=lambda *_: None, share=share)
        sent = 0
        while not share.wait_for("127.0.0.1"):
            connection, transport = server(), Transport()
            connection.connection_made(transport)
            connection.data_received(at_once * b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await asyncio.sleep(0)
            sent += connection._request_count
            connection.connection_lost(None)
        return sent

    most = round(0.03 * BURST / SECONDS_PER_REQUEST)
    assert most / 2 < asyncio.run(asyncio.wait_for(send(), PATIENCE)) <= most + at_once


async def nobody(_request: object) -> web.StreamResponse:
    raise AssertionError


def test_a_credential_is_found_in_its_json_and_url_encodings() -> None:
    assert forms_of(["sk-abc_DEF"]) == ["sk-abc_DEF"]
    secret = 'a/b+"c'
    for text in (b'a/b+"c', b'{"k":"a/b+\\"c"}', b'"a\\/b+\\"c"', b"?key=a%2Fb%2B%22c"):
        for at in range(len(text)):
            detector = LeakDetector(secret)
            assert detector.is_completed_by(text[:at]) or detector.is_completed_by(text[at:]), (text, at)
    assert not LeakDetector(secret).is_completed_by(b"a/b+")
