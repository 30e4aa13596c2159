"""What waits takes little of the gateway's memory, on however many connections: heads, trailers, unread answers."""

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path

import pytest
from gateway.pipes.head_sizes import LONGEST_HEAD

from tests.fakes.messages import Answer
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

FIELD = b"X-%04d: " + b"a" * 8000 + b"\r\n"
SMALL = b"X-%d: a\r\n"
CHUNK = b"1b\r\n" + b'{"model":"m","messages":[]}'
CONNECTIONS = 60
MIB = 1 << 20


def fields(size: int, field: bytes = FIELD) -> bytes:
    return b"".join(field % number for number in range(size // len(field)))


def head(agent: Agent, line: bytes = b"GET /llm/v1/models", more: bytes = b"") -> bytes:
    start = b"%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" % line
    return start + f"x-api-key: {agent.virtual_key}\r\n".encode() + more


def post(agent: Agent, more: bytes = b"") -> bytes:
    return head(agent, b"POST /llm/v1/chat/completions", more)


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
TOO_LONG: dict[str, Callable[[Agent], bytes]] = {
    "a head": lambda agent: head(agent, more=fields(3 * LONGEST_HEAD) + b"\r\n"),
    "a head of small fields": lambda agent: head(agent, more=fields(3 * LONGEST_HEAD, SMALL) + b"\r\n"),
    "a head without an end": lambda agent: head(agent, more=fields(10 * LONGEST_HEAD)),
    "a head behind another": lambda agent: (
        head(agent).replace(b"Connection: close\r\n", b"") + b"\r\n" + head(agent, more=fields(10 * LONGEST_HEAD))
    ),
    "a CONNECT": lambda agent: head(agent, b"CONNECT a.example:443", fields(3 * LONGEST_HEAD) + b"\r\n"),
    "trailers": lambda agent: post(agent, CHUNKED) + CHUNK + b"\r\n0\r\n" + fields(12 * LONGEST_HEAD),
    "the name of a chunk": lambda agent: post(agent, CHUNKED) + b"1b;a=" + b"a" * 100 * LONGEST_HEAD,
}


@pytest.mark.parametrize("attack", TOO_LONG.values(), ids=TOO_LONG)
def test_more_than_a_head_may_have_is_refused(
    alice: Agent, provider: StreamingProvider, attack: Callable[[Agent], bytes]
) -> None:
    came = alice.send(attack(alice))  # returns because the gateway closes the connection
    assert not came or came[9:12] in {b"400", b"431"} or (b"\r\nHTTP/1.1 431 " in came), came[:200]
    assert not provider.sales


def test_a_head_of_the_usual_size_is_read_no_matter_how_it_arrives(alice: Agent) -> None:
    whole = head(alice, more=fields(LONGEST_HEAD - 2000) + b"\r\n")
    for size in (len(whole), 1000):
        with socket.create_connection(("127.0.0.1", alice.gateway.port), 30, (alice.address, 0)) as connection:
            for at in range(0, len(whole), size):
                connection.sendall(whole[at : at + size])
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_small_chunks_and_their_trailers_pass(alice: Agent, provider: StreamingProvider) -> None:
    body = chain((b'{"model":"m","messages":[],"user":"',), (b"u",) * 10_000, (b'"}',))
    chunks = b"".join(b"%x;a=bcd\r\n%s\r\n" % (len(each), each) for each in body)
    assert alice.send(post(alice, CHUNKED) + chunks + b"0\r\nX-Late: a\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert len(provider.sales) == 1


def held(agent: Agent) -> bytes:
    """A request whose answer the agent does not read, and as many others behind it as it can send."""
    first = f"GET /tg/file/bot1:{agent.virtual_token}/a.bin HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    return first + 40 * head(agent, more=fields(LONGEST_HEAD - 2000) + b"\r\n").replace(b"Connection: close\r\n", b"")


WAITING: dict[str, Callable[[Agent], bytes]] = {
    "heads without an end": lambda agent: head(agent, more=fields(10**6)),
    "answers that nobody reads": lambda agent: held(agent).partition(b"\r\n\r\n")[0] + b"\r\n\r\n",
    "heads behind an answer that nobody reads": held,
    "trailers behind an answer that nobody reads": lambda agent: (
        f"GET /tg/file/bot1:{agent.virtual_token}/a.bin HTTP/1.1\r\nHost: a\r\n".encode() + CHUNKED + b"1\r\na\r\n0\r\n"
        + fields(10**6)
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", WAITING.values(), ids=WAITING)
def test_what_waits_takes_little_memory(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, attack: Callable[[Agent], bytes]
) -> None:
    file = Answer(200, b"a" * 6 * MIB, {"Content-Type": "application/octet-stream"})
    telegram.answer = lambda _request: file  # type: ignore[method-assign, assignment]  # only for this fake
    alice, bob = (Agent(own_gateway.start() if n == 1 else own_gateway, telegram, provider, number=n) for n in (1, 2))
    own_gateway.apply(alice.entry(), bob.entry())
    before = memory_of(own_gateway)
    with sent_on_many(alice, attack(alice)):
        wait_until(Unchanged(lambda: waiting_bytes(own_gateway)), within=PATIENCE)
        assert bob.chat().status == 200
        assert memory_of(own_gateway) - before < CONNECTIONS * MIB * 3 // 4
    own_gateway.end()


@contextmanager
def sent_on_many(agent: Agent, data: bytes) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.bind((agent.address, 0))
            connection.connect(("127.0.0.1", agent.gateway.port))
            connection.settimeout(0.2)
            with suppress(TimeoutError, ConnectionError):
                connection.sendall(data)
        yield


class Unchanged:
    """Whether a figure was the same for a second, in which every address may use more of the processor."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read, self._last, self._since = read, -1, 0.0

    def __call__(self) -> bool:
        now, last, self._last = time.monotonic(), self._last, self._read()
        if last != self._last:
            self._since = now
        return now - self._since > 1


def memory_of(gateway: Gateway) -> int:
    """Returns the bytes of memory that the gateway uses."""
    return int(Path(f"/proc/{gateway.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def waiting_bytes(gateway: Gateway) -> int:
    """Returns how many bytes have arrived at the gateway's port and are not read yet."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(f":{gateway.port:04X}"))
