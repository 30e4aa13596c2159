"""The control side over a network: a client without the service's certificate gets no answer and is
disconnected soon.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from containers.errors import EngineUnavailableError
from containers.gateway.authority import SERVICE, Authority, Identity, Role, name_of_node
from containers.gateway.protocol import GatewayClient
from containers.gateway.tls_transport import NOT_TRUSTED, ServiceContexts, TlsTransport, client_context
from containers.outbound.call_limits import time_limit
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.secured import (
    INSTANCE,
    KEYS,
    KNOWN,
    NODE,
    PING,
    come,
    issue,
    listen_secured,
    port_of,
    secured,
    showing,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
LONG_AGO = datetime.now(UTC) - timedelta(days=400)


@pytest.fixture(scope="module")
def gateway(gateway_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = Gateway(gateway_image, tmp_path_factory.mktemp("secured"))
    listen_secured(gateway)
    yield gateway.start()
    assert gateway.stop() == 0
    assert not [line for line in gateway.lines if "retrieved" in line or "Error" in line], gateway.lines


def as_stranger() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def older(context: ssl.SSLContext) -> ssl.SSLContext:
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def signed_by_no_authority() -> ssl.SSLContext:
    """The certificate of a node signs another one, which has the service's name."""
    node, forged = issue(Role.NODE, name_of_node(NODE)), issue(Role.SERVICE, SERVICE, key=KEYS[1])
    return client_context(Identity(forged.certificate + node.certificate, forged.key), KNOWN)


STRANGERS: dict[str, Callable[[], ssl.SSLContext | None]] = {
    "no TLS": lambda: None,
    "no certificate": as_stranger,
    "TLS 1.2": lambda: older(showing(Role.SERVICE, SERVICE)),
    "another authority": lambda: showing(Role.SERVICE, SERVICE, key=KEYS[1]),
    "expired": lambda: showing(Role.SERVICE, SERVICE, now=LONG_AGO),
    "not yet valid": lambda: showing(Role.SERVICE, SERVICE, now=datetime.now(UTC) + timedelta(days=90)),
    "another name": lambda: showing(Role.SERVICE, "other.berth.internal"),
    "a node": lambda: showing(Role.NODE, name_of_node(NODE)),
    "a node with the name of the service": lambda: showing(Role.NODE, SERVICE),
    "signed by a node": signed_by_no_authority,
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_stranger_gets_no_answer(gateway: Gateway, stranger: str) -> None:
    assert come(gateway, STRANGERS[stranger]()) == b""


def test_the_service_is_answered(gateway: Gateway) -> None:
    assert json.loads(come(gateway, showing(Role.SERVICE, SERVICE)))["ok"]


def test_silent_connections_of_one_address_are_limited_and_the_service_still_connects(gateway: Gateway) -> None:
    address, stranger = ("127.0.0.1", port_of(gateway)), ("127.0.0.9", 0)
    silent = [socket.create_connection(address, PATIENCE, stranger) for _ in range(12)]
    try:
        wait_until(lambda: _count_open(silent) <= 8, within=PATIENCE, what="All of them are let wait.")
        assert GatewayClient(secured(gateway)).ping() == 1
    finally:
        for each in silent:
            each.close()


def _count_open(connections: list[socket.socket]) -> int:
    return sum(not _has_ended(each) for each in connections)


def _has_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize(("keys", "node"), [([KEYS[1]], NODE), ([KEYS[0]], "node2")])
def test_the_service_sends_nothing_to_an_impostor_of_the_gateway(gateway: Gateway, keys: list[str], node: str) -> None:
    with pytest.raises(EngineUnavailableError, match=NOT_TRUSTED):
        GatewayClient(secured(gateway, keys=keys, node=node)).apply(version=1, void=["alice"])
    assert "alice" not in GatewayClient(secured(gateway)).versions()


@pytest.mark.parametrize("known", [[KEYS[0]], [KEYS[1], KEYS[0]], [KEYS[0], KEYS[1]]])
def test_a_gateway_without_the_new_key_uses_the_previous_one(gateway: Gateway, known: list[str]) -> None:
    assert GatewayClient(secured(gateway, keys=known)).ping() == 1


def test_a_question_without_an_answer_ends_in_time() -> None:
    """A client that opens a connection and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        contexts = ServiceContexts(KEYS[:1], instance=INSTANCE)
        transport = TlsTransport("127.0.0.1", silent.getsockname()[1], name="n", contexts=contexts)
        began = time.monotonic()
        with time_limit(0.2), pytest.raises(EngineUnavailableError):
            GatewayClient(transport, within=PATIENCE).ping()
        with pytest.raises(EngineUnavailableError):
            GatewayClient(transport, within=0.2).ping()
        assert time.monotonic() - began < PATIENCE / 2


def test_a_large_answer_that_never_ends_is_cut(tmp_path: Path) -> None:
    own = issue(Role.NODE, "n")
    file = tmp_path / "own"
    file.write_text(own.key + own.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as flooding:
        threading.Thread(target=_flood, args=(flooding, context), daemon=True).start()
        contexts = ServiceContexts(KEYS[:1], instance=INSTANCE)
        transport = TlsTransport("127.0.0.1", flooding.getsockname()[1], name="n", contexts=contexts)
        with pytest.raises(EngineUnavailableError):
            transport.exchange(PING, within=PATIENCE)


def _flood(flooding: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = flooding.accept()
    with context.wrap_socket(connection, server_side=True) as stream:
        try:
            while True:
                stream.sendall(b"x" * 65536)
        except OSError:
            return


def test_certificates_stay_the_same_for_a_month_and_are_valid_for_longer() -> None:
    authority = Authority(KEYS[0], instance=INSTANCE)
    now = datetime(2026, 11, 23, tzinfo=UTC)
    made = [authority.issue(Role.NODE, "n", now=now + timedelta(days=days)) for days in (0, 1, 31)]
    assert made[0] == made[1] != made[2]
    assert KEYS[0] not in repr(made[0])
    assert "PRIVATE" not in repr(made[0])
    assert Authority(KEYS[0], instance=INSTANCE).certificate == authority.certificate
    assert Authority(KEYS[0], instance="other").certificate != authority.certificate


def test_the_service_renews_its_own_certificate() -> None:
    now = [datetime.now(UTC)]
    contexts = ServiceContexts(KEYS[:1], instance=INSTANCE, now=lambda: now[0])
    first = contexts()
    assert contexts() is first
    now[0] += timedelta(days=31)
    assert contexts() is not first
