"""Bodies that no honest agent sends have no effect upstream."""

import socket

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE

pytestmark = pytest.mark.one_database

BODIES = {
    "no JSON": b"{",
    "no object": b"[]",
    "a text": b'"a"',
    "deep": b'{"model":"m","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "many": b'{"model":"m","a":[' + b"0," * 300_000 + b"0]}",
    "not a number": b'{"model":"m","a":NaN}',
    "no finite number": b'{"model":"m","a":1e999}',
    "huge number": b'{"model":"m","a":' + b"9" * 10_000 + b"}",
    "no model": b'{"messages":[]}',
    "a list as model": b'{"model":[],"messages":[]}',
    "a text as length": b'{"model":"m","messages":[],"max_tokens":"9"}',
    "a negative length": b'{"model":"m","messages":[],"max_tokens":-1}',
    "many choices": b'{"model":"m","messages":[],"n":1000000}',
    "a text as stream": b'{"model":"m","messages":[],"stream":"yes"}',
    "in the background": b'{"model":"m","messages":[],"background":true}',
    "no text": b"\xff\xfe\x00",
    "nothing": b"",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_cannot_be_understood_is_refused(alice: Agent, provider: StreamingProvider, body: bytes) -> None:
    answer = alice.ask("POST", "/llm/v1/chat/completions", body, headers=alice.login)
    assert answer.status in (400, 413)
    assert not provider.requests


def test_the_provider_reads_the_same_duplicate_key_that_was_checked(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(models=["good"]))
    body = b'{"model":"%s","messages":[],"model":"%s"}'
    assert alice.ask("POST", "/llm/v1/chat/completions", body % (b"good", b"bad"), headers=alice.login).status == 404
    assert alice.ask("POST", "/llm/v1/chat/completions", body % (b"bad", b"good"), headers=alice.login).status == 200
    assert provider.sales[0].body["model"] == "good"


def test_a_huge_body_is_refused_before_it_is_read(alice: Agent, provider: StreamingProvider) -> None:
    for path in ("llm/v1/chat/completions", f"tg/bot1:{alice.virtual_token}/sendDocument"):
        login = f"Authorization: Bearer {alice.virtual_key}\r\n"
        answer = alice.send(f"POST /{path} HTTP/1.1\r\nHost: a\r\n{login}Content-Length: 1073741824\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 413"), answer[:100]
    assert not provider.requests


def test_a_huge_body_in_chunks_is_refused_when_it_is_too_long(alice: Agent) -> None:
    login = f"Authorization: Bearer {alice.virtual_key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", alice.gateway.port), PATIENCE, (alice.address, 0)) as connection:
        connection.sendall(f"POST /llm/v1/chat/completions HTTP/1.1\r\nHost: a\r\n{login}".encode())
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        sent = 0
        try:
            while sent < 200:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
    assert sent < 100
