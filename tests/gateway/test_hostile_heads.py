"""Heads and framings that no honest agent sends. At most, the upstream gets the call that they openly ask for, once."""

import gzip
from typing import NamedTuple

import pytest

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent

pytestmark = pytest.mark.one_database

BODY = b'{"model":"m","messages":[]}'
HIDDEN = b"GET /llm/v1/models/evil HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\n\r\n"
LENGTH = b"Content-Length: 27\r\n"


class Attack(NamedTuple):
    """`KEY` stands for the virtual key. `asked` says how often the provider may be called for it."""

    data: bytes
    asked: int = 0


def post(more: bytes = b"", body: bytes = BODY, *, line: bytes = b"POST /llm/v1/chat/completions HTTP/1.1") -> bytes:
    return line + b"\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer KEY\r\n" + more + b"\r\n" + body


def chunked(size: bytes, trailer: bytes = b"") -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n", size + b"\r\n" + BODY + b"\r\n0\r\n" + trailer + b"\r\n")


def get(target: bytes, more: bytes = b"") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: KEY\r\n" + more + b"\r\n"


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode() + HIDDEN


LONGER = b"Content-Length: %d\r\n"
ATTACKS = {
    "another protocol": Attack(post(LENGTH + b"Connection: Upgrade\r\nUpgrade: websocket\r\n", BODY + HIDDEN), 1),
    "another version": Attack(post(LENGTH + b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"), 1),
    "its preface": Attack(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN),
    "an expectation": Attack(post(LENGTH + b"Expect: 200-ok\r\n"), 1),
    "go on, and no more": Attack(post(b"Content-Length: 27\r\nExpect: 100-continue\r\n", b"")),
    "go on, a thousand times": Attack(post(LENGTH + b"Expect: 100-continue\r\n" * 1000)),
    "a key in the trailer": Attack(chunked(b"1b", b"X-Api-Key: evil\r\nAuthorization: Bearer evil\r\n"), 1),
    "a named trailer": Attack(post(b"Trailer: authorization\r\nTE: trailers\r\n" + LENGTH), 1),
    "a name in front of the host": Attack(get(b"http://evil:evil@127.0.0.1/llm/v1/models")),
    "an address of six": Attack(connect("[::1]:443")),
    "a short address": Attack(connect("127.1:443")),
    "a name before the place": Attack(connect("evil@example.org:443")),
    "no port that is": Attack(connect("example.org:99999")),
    "a port in other digits": Attack(connect("example.org:\u0664\u0664\u0663")),
    "nothing in a place": Attack(connect("example.org%00.evil:443")),
    "a length in other digits": Attack(post("Content-Length: \u0662\u0667\r\n".encode()) + HIDDEN),
    "a hexadecimal length": Attack(post(b"Content-Length: 0x1b\r\n") + HIDDEN),
    "a length with a line": Attack(post(b"Content-Length: 2_7\r\n") + HIDDEN),
    "a negative length": Attack(post(b"Content-Length: -27\r\n") + HIDDEN),
    "a chunk 0x": Attack(chunked(b"0x1b") + HIDDEN),
    "a signed chunk": Attack(chunked(b"+1b") + HIDDEN),
    "a negative chunk": Attack(chunked(b"-1b") + HIDDEN),
    "an endless chunk": Attack(chunked(b"f" * 17) + HIDDEN),
    "a chunk in other digits": Attack(chunked("\u0661b".encode()) + HIDDEN),
    "a chunk that ends too late": Attack(chunked(b"1a") + HIDDEN),
    "a folded credential": Attack(post(LENGTH).replace(b": Bearer", b":\r\n Bearer")),
    "line feeds": Attack(post(LENGTH).replace(b"\r\n", b"\n")),
    "a key by the sign of Kelvin": Attack(get(b"/llm/v1/models").replace(b"x-api-key", "x-api-\u212aey".encode())),
    "nothing in the path": Attack(get(b"/llm/v1/models\x00")),
    "a space in the path": Attack(get(b"/llm/v1/models /evil")),
    "two spaces": Attack(get(b" /llm/v1/models /")),
    "no letters": Attack(get("/llm/v1/models/\u00e9vil".encode())),
    "a long head": Attack(get(b"/llm/v1/models", b"X-A: " + b"a" * 100_000 + b"\r\n")),
    "a method of its own": Attack(get(b"/llm/v1/models").replace(b"GET", b"GETT")),
    "a method in small letters": Attack(get(b"/llm/v1/models").replace(b"GET", b"get")),
    "another method in a header": Attack(post(LENGTH + b"X-HTTP-Method-Override: DELETE\r\n"), 1),
    "a header that is to be dropped": Attack(post(LENGTH + b"Connection: close, authorization\r\n"), 1),
    "a second request as the body of a look": Attack(get(b"/llm/v1/models", LONGER % len(HIDDEN)) + HIDDEN, 1),
    "headers in the query": Attack(get(b"/llm/v1/models?after=a%0d%0aX-Evil:%20evil&key=evil&api_key=evil"), 1),
    "an encoded transfer": Attack(post(b"Transfer-Encoding: gzip, chunked\r\n", b"1b\r\n" + BODY + b"\r\n0\r\n\r\n")),
    "old and in chunks": Attack(chunked(b"1b").replace(b"HTTP/1.1", b"HTTP/1.0") + HIDDEN, 1),
    "no host": Attack(post(LENGTH).replace(b"Host: a\r\n", b""), 1),
    "another type": Attack(post(LENGTH + b"Content-Type: multipart/form-data; boundary=a\r\n"), 1),
}  # fmt: skip
for coding in ("gzip", "br", "zstd", "deflate", "identity, gzip", "GZIP"):
    packed = gzip.compress(bytes(1_000_000))
    head = b"Content-Encoding: %s\r\nContent-Length: %d\r\n" % (coding.encode(), len(packed))
    ATTACKS[f"a packed body ({coding})"] = Attack(post(head, packed))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_pipelined_requests_wait_until_the_client_reads(
    alice: Agent, provider: StreamingProvider, telegram: FakeTelegram, attack: Attack
) -> None:
    data = attack.data.replace(b"KEY", alice.virtual_key.encode())
    came = alice.send(data, hangs_up_after=0.15)
    assert alice.key.encode() not in came
    assert len(provider.requests) <= attack.asked, came[:200]
    assert not telegram.requests
    assert not any("evil" in path.partition("after=")[0] for _, path in provider.requests)
    for sale in provider.sales:
        assert (sale.key, sale.body) == (alice.key, {"model": "m", "messages": []})
        assert not {"upgrade", "trailer", "te", "x-http-method-override"} & {each.lower() for each in sale.headers}
        assert sale.headers["content-type"] == "application/json"


def test_a_thousand_pipelined_requests_are_answered_in_order_and_delay_nobody(
    alice: Agent, bob: Agent, provider: StreamingProvider
) -> None:
    one = b"GET /llm/v1/unknown HTTP/1.1\r\nHost: a\r\nx-api-key: KEY\r\n\r\n".replace(
        b"KEY", alice.virtual_key.encode()
    )
    with alice.connected() as connection:
        connection.connect()
        connection.sock.sendall(one * 1000)
        assert bob.chat().status == 200
        came = connection.sock.recv(65536)
    assert came.startswith(b"HTTP/1.1 404")
    assert len(provider.requests) == 1
