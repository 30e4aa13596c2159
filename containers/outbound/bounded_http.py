"""HTTP connection pools whose calls keep the limits of `containers.outbound.call_limits`."""

import socket
import ssl
from typing import Any

import urllib3
import urllib3.connection
from urllib3.util.ssl_ import create_urllib3_context

from containers.outbound import call_limits


class BoundedConnection(urllib3.connection.HTTPConnection):
    """An HTTP connection to `unix_path`, or without one to its host and port."""

    def __init__(self, *args: Any, unix_path: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._unix_path = unix_path

    def _new_conn(self) -> socket.socket:
        if self._unix_path:
            return call_limits.connect_to(socket.AF_UNIX, self._unix_path)
        return call_limits.connect(self._dns_host, self.port or 80)


class BoundedTLSConnection(urllib3.connection.HTTPSConnection):
    """An HTTPS connection. Its pool passes it `bounded_tls()` as its SSL context."""

    def _new_conn(self) -> socket.socket:
        return call_limits.connect(self._dns_host, self.port or 443)


class OpensSockets(urllib3.HTTPConnectionPool):
    def open_socket(self) -> socket.socket:
        """Returns a new connection that the caller owns. It uses TLS if the pool does."""
        connection: Any = self._new_conn()
        connection.connect()
        found: socket.socket = connection.sock
        return found


class BoundedPool(OpensSockets):
    ConnectionCls = BoundedConnection


class BoundedTLSPool(OpensSockets, urllib3.HTTPSConnectionPool):
    ConnectionCls = BoundedTLSConnection


BOUNDED_POOLS = {"http": BoundedPool, "https": BoundedTLSPool}


def bounded_tls(*, verify: bool = True) -> ssl.SSLContext:
    """Returns a TLS context whose sockets keep the limits. It checks certificates and names unless not `verify`."""
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if verify else ssl.CERT_NONE)
    context.sslsocket_class = call_limits.BoundedTLSSocket
    return context
