"""Agents that connect while the gateway starts, or waits for the lock or its address, wait and are not refused."""

import fcntl
import socket
import time
from functools import partial
from pathlib import Path

import pytest
from gateway.config import Config
from gateway.serving.listening import listen

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.long.handover import is_ready
from tests.gateway.process import PATIENCE, Gateway
from tests.ports import reserve_port
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def test_an_address_may_appear_later_with_its_network() -> None:
    listening = listen(Config(host="198.51.100.7", port=reserve_port()))  # unassigned (RFC 5737)
    assert listening is not None
    with listening:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


@pytest.mark.parametrize("host", ["127.0.0.1", "no address", ""])
def test_an_address_that_is_missing_now_is_left_to_the_child(host: str) -> None:
    port = reserve_port()
    with socket.create_server(("127.0.0.1", port)):
        assert listen(Config(host=host, port=port)) is None


def test_a_client_that_connects_early_is_answered_once_the_gateway_works(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    """As an agent whose gateway has just been restarted."""
    agent = Agent(own_gateway, telegram, provider, number=1)
    state = Path(own_gateway.env["GATEWAY_STATE"])
    state.mkdir()
    with (state / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        own_gateway.begin()
        connection = wait_until(partial(connect, agent), within=PATIENCE)
        wait_until(lambda: is_ready(own_gateway) is False, within=PATIENCE)
    with connection:
        connection.sendall(f"GET /tg/bot1:{agent.virtual_token}/getMe HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 503 "), "Its entry may be on its way."


def test_a_port_that_is_in_use_is_waited_for(own_gateway: Gateway) -> None:
    """A predecessor that was killed and restarted may listen before the successor that has the lock."""
    with socket.create_server(("127.0.0.1", own_gateway.port)):
        own_gateway.begin()
        wait_until(lambda: is_ready(own_gateway) is False or own_gateway.is_gone, within=PATIENCE)
        time.sleep(0.5)  # in which the successor gets the lock, and tries to listen
        assert not own_gateway.is_gone, own_gateway.lines
    wait_until(lambda: is_ready(own_gateway), within=PATIENCE)


def connect(agent: Agent) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", agent.gateway.port), PATIENCE, (agent.address, 0))
    except ConnectionRefusedError:
        return None
