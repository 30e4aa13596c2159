"""A gateway of a node, which is reached over TLS, and the certificates of both ends."""

import socket
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography.fernet import Fernet

from containers.gateway.authority import Authority, Identity, Role, name_of_node
from containers.gateway.tls_transport import ServiceContexts, TlsTransport, client_context
from tests.gateway.process import PATIENCE, Gateway
from tests.ports import reserve_port

INSTANCE, NODE = "tests", "Node1"
KEYS = [Fernet.generate_key().decode() for _ in range(2)]
KNOWN = [Authority(KEYS[0], instance=INSTANCE).certificate]
PING = b'{"do":"ping"}\n'


def issue(role: Role, name: str, *, key: str = KEYS[0], now: datetime | None = None) -> Identity:
    return Authority(key, instance=INSTANCE).issue(role, name, now=now or datetime.now(UTC))


def listen_secured(gateway: Gateway, *, keys: Sequence[str] = KEYS[:1], node: str = NODE) -> None:
    """Writes a node's files as the service does, for a gateway that is not started yet."""
    own = issue(Role.NODE, name_of_node(node), key=keys[0])
    (gateway.folder / "control").write_text(own.key + own.certificate)
    known = [Authority(key, instance=INSTANCE).certificate for key in keys]
    (gateway.folder / "authorities").write_text("".join(known))
    gateway.env |= {
        "GATEWAY_CONTROL_HOST": "127.0.0.1",
        "GATEWAY_CONTROL_PORT": str(reserve_port()),
        "GATEWAY_CONTROL_FILE": str(gateway.folder / "control"),
        "GATEWAY_CONTROL_AUTHORITIES": str(gateway.folder / "authorities"),
    }


def port_of(gateway: Gateway) -> int:
    return int(gateway.env["GATEWAY_CONTROL_PORT"])


def secured(gateway: Gateway, *, keys: Sequence[str] = KEYS[:1], node: str = NODE) -> TlsTransport:
    contexts = ServiceContexts(keys, instance=INSTANCE)
    return TlsTransport("127.0.0.1", port_of(gateway), name=name_of_node(node), contexts=contexts)


def showing(role: Role, name: str, *, key: str = KEYS[0], now: datetime | None = None) -> ssl.SSLContext:
    return client_context(issue(role, name, key=key, now=now), KNOWN)


def come(gateway: Gateway, context: ssl.SSLContext | None) -> bytes:
    """Returns all that the gateway sends to a client that asks whether it runs."""
    with socket.create_connection(("127.0.0.1", port_of(gateway)), PATIENCE) as plain:
        try:
            stream = plain if context is None else context.wrap_socket(plain, server_hostname=name_of_node(NODE))
            with stream:
                stream.sendall(PING)
                return stream.recv(1000)
        except (ssl.SSLError, ConnectionError):
            return b""
