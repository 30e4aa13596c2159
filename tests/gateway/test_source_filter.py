"""The kernel drops the packets with which an address opens connections too fast; nobody else notices."""

import asyncio
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

import pytest
from gateway.pipes.source_filter import MOST, SourceFilter

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
DROPPED = 0.4
"""Seconds without an answer to a connection's first packet after which it counts as dropped. On loopback it comes at
once, because the kernel answers it."""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        yield server


def connect(source: str, port: int) -> bool:
    with suppress(TimeoutError), socket.create_connection(("127.0.0.1", port), DROPPED, (source, 0)):
        return True
    return False


def block(sources: SourceFilter, addresses: Iterable[str]) -> None:
    """Blocks them for good: what would unblock them ends with the loop."""

    async def run() -> None:
        for address in addresses:
            sources.block(address, 600)

    asyncio.run(run())


@pytest.mark.parametrize("others", [0, 1, 2, MOST - 2, MOST - 1])
def test_only_blocked_addresses_are_dropped(listening: socket.socket, others: int) -> None:
    sources, port = SourceFilter(), listening.getsockname()[1]
    sources.attach_to(listening.fileno())
    blocked = [*(f"127.0.1.{number}" for number in range(others)), "127.0.0.5"]
    block(sources, blocked)
    for address in {blocked[0], blocked[len(blocked) // 2], blocked[-1]}:
        assert not connect(address, port)
    for address in ("127.0.0.4", "127.0.0.6", "127.0.2.5", "127.1.0.5"):
        assert connect(address, port)
    sources.close()


def test_a_block_ends_and_leaves_the_others(listening: socket.socket) -> None:
    sources, port = SourceFilter(), listening.getsockname()[1]
    sources.attach_to(listening.fileno())

    async def block() -> None:
        sources.block("127.0.0.5", 0)
        sources.block("127.0.0.6", 600)
        await asyncio.sleep(0.01)

    asyncio.run(block())
    assert connect("127.0.0.5", port)
    assert not connect("127.0.0.6", port)
    sources.close()


def test_a_connection_outlives_the_block_of_its_address(listening: socket.socket) -> None:
    sources, port = SourceFilter(), listening.getsockname()[1]
    sources.attach_to(listening.fileno())
    block(sources, ["127.0.0.9"])  # so that the connection gets a filter
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.5", 0)) as mine,
        listening.accept()[0] as its,
    ):
        block(sources, ["127.0.0.5"])
        mine.sendall(b"a")
        its.settimeout(PATIENCE)
        assert its.recv(1) == b"a"
        its.sendall(b"b")
        assert mine.recv(1) == b"b"
    sources.close()


@pytest.mark.parametrize("address", ["", "::1", "no address"])
def test_what_is_no_address_of_ipv4_blocks_nobody(listening: socket.socket, address: str) -> None:
    sources, port = SourceFilter(), listening.getsockname()[1]
    sources.attach_to(listening.fileno())
    block(sources, [address])
    assert connect("127.0.0.5", port)
    sources.close()


def test_more_than_a_filter_holds_are_left_to_the_limit_on_connections(listening: socket.socket) -> None:
    sources, port = SourceFilter(), listening.getsockname()[1]
    sources.attach_to(listening.fileno())
    block(sources, (f"127.0.{1 + number // 200}.{number % 200}" for number in range(1000)))
    assert not connect("127.0.1.199", port)
    assert connect("127.0.2.0", port)
    sources.close()


def test_a_kernel_without_filters_changes_nothing() -> None:
    sources = SourceFilter()
    reading, writing = socket.socketpair()
    with reading, writing:
        sources.attach_to(reading.fileno())
        sources._listening.close()  # type: ignore[union-attr]  # the kernel refuses every option of this descriptor
        block(sources, ["127.0.0.5"])
        block(sources, ["127.0.0.6"])


def test_the_kernel_takes_over_when_an_agent_opens_connections_too_fast(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    own_gateway.env["GATEWAY_CONNECTIONS"] = "8"
    own_gateway.start()
    agent, other = (Agent(own_gateway, telegram, provider, number=number) for number in (1, 2))
    wait_until(lambda: not connect(agent.address, own_gateway.port), within=PATIENCE, every=0)
    assert connect(other.address, own_gateway.port)
    wait_until(partial(connect, agent.address, own_gateway.port), within=PATIENCE, every=0.1)
