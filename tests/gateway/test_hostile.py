"""What hostile agents send. Nothing of it gets out, and nobody else notices.

The long fuzz: python -m tests.gateway.fuzz --requests 100000
"""

import json
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.fuzz import fuzz
from tests.gateway.process import PATIENCE
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

BODY = b'{"model":"m","messages":[]}'
SMUGGLED = b"GET /llm/v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: %s\r\n\r\n"

HEADS = {
    "both lengths": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "lengths that differ": b"Content-Length: 4\r\nContent-Length: 27\r\n",
    "equal lengths": b"Content-Length: 27\r\nContent-Length: 27\r\n",
    "signed length": b"Content-Length: +27\r\n",
    "list of lengths": b"Content-Length: 27, 27\r\n",
    "hidden encoding": b"Transfer-Encoding: xchunked\r\nContent-Length: 27\r\n",
    "encoding behind a tab": b"Transfer-Encoding:\tchunked\r\nContent-Length: 27\r\n",
    "two encodings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "encoding twice": b"Transfer-Encoding: chunked, chunked\r\n",
    "space before the colon": b"Content-Length : 27\r\n",
    "folded header": b"Content-Length: 27\r\nX-A: b\r\n c\r\n",
    "line feed alone": b"Content-Length: 27\r\nX-A: b\nContent-Length: 0\r\n",
    "carriage return alone": b"Content-Length: 27\r\nX-A: b\rContent-Length: 0\r\n",
    "nothing in a name": b"Content-Length: 27\r\nX\x00A: b\r\n",
    "compressed": b"Content-Encoding: gzip\r\nContent-Length: 27\r\n",
    "two hosts": b"Content-Length: 27\r\nHost: b\r\n",
    "two types": b"Content-Length: 27\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_an_ambiguous_request_is_refused(alice: Agent, provider: StreamingProvider, head: bytes) -> None:
    login = b"Authorization: Bearer " + alice.virtual_key.encode() + b"\r\n"
    request = b"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\n" + login + head + b"\r\n" + BODY
    answer = alice.send(request + SMUGGLED % alice.virtual_key.encode())
    assert b" 200 " not in answer.partition(b"\r\n")[0]
    assert len(provider.sales) == 0


@pytest.mark.parametrize(
    "target",
    [
        "http://{upstream}/v1/models", "//{upstream}/v1/models", "/llm/v1//models", "/llm/v1/../v1/models",
        "/llm/v1/%2e%2e/v1/models", "/llm/v1/models/..", "/llm/v1/models/%2e%2e/key", "/llm/v1/models/..%2F..%2Fkey",
        "/llm/v1/models%00", "/llm/v1/models/a\\b", "/llm/v2/models", "/llm/v1/files", "/llm/v1/models;a",
        "/llm/v1/fine_tuning/jobs", "/LLM/v1/models", "*", "/", "/llm/v1/models#a", "/llm/v1/models/a//b",
        "/llm/v1/@{upstream}/", "/llm/v1/models/%252e%252e", "/llm/v1/responses/resp_1", "/llm/v1/organization/usage",
        "/llm/v1/realtime?model=m", "/llm/v1/responses", "/llm/v1/batches", "/llm/v1/messages/batches",
    ],
)  # fmt: skip
def test_an_unknown_path_is_not_forwarded(alice: Agent, provider: StreamingProvider, target: str) -> None:
    target = target.format(upstream=f"127.0.0.1:{provider.port}")
    answer = alice.send(
        f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: {alice.virtual_key}\r\n\r\n".encode()
    )
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400", b"HTTP/1.0 400", b"HTTP/1.1 401")), answer[:100]
    assert not provider.requests


@pytest.mark.parametrize(
    "path",
    [
        "bot1:{v}/../getMe", "bot1:{v}/get%4de", "bot1:{v}/getMe/", "bot1:{v}/test/getMe", "bot1:{v}", "bot1:{v}/",
        "bot1%253A{v}/getMe", "bot1:%3A{v}/getMe", "bot1%3A:{v}/getMe", "bot%31:{v}/getMe", "bot1%3B{v}/getMe",
        "bot1%3A{v}%2FgetMe", "file/bot1%3A{v}/a%3Ab", "bot1:{v}%2FgetMe", "bot1:{v}@127.0.0.1/getMe",
        "file/bot1:{v}/../../getMe",
        "file/bot1:{v}/%2e%2e/getMe", "file/bot1:{v}//etc/passwd", "file/bot1:{v}/a\\b", "file/bot1:{v}/.hidden",
        "file/bot1:{v}/a/./b", "BOT1:{v}/getMe", "bot:{v}/getMe", "bot1:{v}/getMe%00",
    ],
)  # fmt: skip
def test_a_path_of_the_bot_api_is_forwarded_unchanged_or_refused(
    alice: Agent, telegram: FakeTelegram, path: str
) -> None:
    path = "/tg/" + path.format(v=alice.virtual_token)
    answer = alice.send(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400", b"HTTP/1.1 401")), answer[:100]
    assert not telegram.requests


def test_the_connections_of_one_address_are_limited_and_others_do_not_notice(alice: Agent, bob: Agent) -> None:
    place = ("127.0.0.1", alice.gateway.port)
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(place, 10, (alice.address, 0))) for _ in range(300)]
        closed = wait_until(lambda: _closed(connections, least=300 - 128))
        assert closed < 300
        assert bob.bot("getMe").status == 200


def _closed(connections: list[socket.socket], least: int) -> int:
    """Returns how many of these the gateway has ended, once it has ended this many."""
    readable, _, _ = select.select(connections, [], [], 0)
    return len(readable) if len(readable) >= least else 0


def test_an_incomplete_request_delays_nobody(alice: Agent, bob: Agent) -> None:
    with ExitStack() as stack:
        for _ in range(50):
            connection = socket.create_connection(("127.0.0.1", alice.gateway.port), 10, (alice.address, 0))
            stack.enter_context(connection)
            connection.sendall(b"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nX: ")
        assert bob.chat().status == 200


def test_a_forged_host_header_changes_nothing(alice: Agent, provider: StreamingProvider) -> None:
    body = json.dumps({"model": "m", "messages": []})
    with alice.connected() as connection:
        connection.putrequest("POST", "/llm/v1/chat/completions", skip_host=True)
        for name, value in (("Host", "evil.example"), ("Content-Length", str(len(body))), *alice.login.items()):
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        assert connection.getresponse().status == 200
    assert provider.sales[0].headers["host"] == f"127.0.0.1:{provider.port}"


def test_too_many_calls_in_parallel_or_per_minute_are_refused(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(limits={"parallel": 2}))
    provider.gate.clear()
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(alice.chat, stream=True) for _ in range(2)]
        with provider.changed:
            assert provider.changed.wait_for(lambda: len(provider.sales) == 2, PATIENCE)
        assert alice.chat().status == 429
        provider.gate.set()
        assert [call.result(PATIENCE).status for call in calls] == [200, 200]
    alice.gateway.apply(alice.entry(limits={"requests": 3}))
    assert [alice.chat().status for _ in range(3)] == [200, 429, 429]


def test_a_short_fuzz_gets_nothing_out(alice: Agent, provider: StreamingProvider, telegram: FakeTelegram) -> None:
    found = fuzz([alice], requests=200, seed=int(time.time()))
    assert found.leaks == []
    assert found.unanswered == 0
    assert alice.bot("getMe").status == 200
