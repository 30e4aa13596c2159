"""Serves the same protocol over a network: with TLS 1.3, and only to a client with the service's certificate.

The gateway reads and sends nothing before that. It disconnects clients without a certificate within seconds, and admits
only a few at a time.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from gateway.config import Config
from gateway.control.server import LARGEST, Speak

SERVICE = "service.berth.internal"
"""The name in the service's certificate: `containers/gateway/authority.py`."""

HANDSHAKE_WITHIN = 5.0
SILENT_FOR = 60.0
"""Seconds without a line before a connection is closed. The service sends one line per connection."""
STRANGERS, STRANGERS_OF_ONE = 64, 8
"""Connections that have not shown a certificate yet: from all addresses, and from one."""
QUEUE = 64

logger = logging.getLogger(__name__)

_Marks = tuple[tuple[int, int, int], ...]


def read_context(config: Config) -> ssl.SSLContext:
    """Raises OSError, of which `ssl.SSLError` is a subclass, if the files are not a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    context.num_tickets = 0  # no resumption: each connection must show the certificate
    context.load_cert_chain(config.control_file)
    context.load_verify_locations(config.control_authorities)
    return context


class Contexts:
    """Returns a TLS context for each handshake, and reads the files again when they change: a certificate lasts two
    months.

    Files that cannot be read, for example while they are being written, change nothing.
    """

    def __init__(self, config: Config) -> None:
        """Raises OSError."""
        self._config = config
        self._files = (config.control_file, config.control_authorities)
        self._read = self._failed = _marks(self._files)
        self._context = read_context(config)

    def __call__(self) -> ssl.SSLContext:
        marks: _Marks = ()
        try:
            marks = _marks(self._files)
            if marks != self._read:
                self._context, self._read = read_context(self._config), marks
        except OSError:
            if marks != self._failed:
                logger.warning("The changed certificates of the control side cannot be read. The old ones stay in use.")
            self._failed = marks
        return self._context


def _marks(files: tuple[Path, ...]) -> _Marks:
    """Returns values that change with the files. Raises OSError."""
    return tuple((found.st_ino, found.st_size, found.st_mtime_ns) for found in (file.stat() for file in files))


@asynccontextmanager
async def secured_control(config: Config, speak: Speak) -> AsyncIterator[None]:
    """Listens while the context is open, if a port is set. Raises OSError."""
    if not config.control_port:
        yield
        return
    receiver = _Receiver(Contexts(config), speak)
    with socket.create_server((config.control_host, config.control_port), backlog=QUEUE) as listening:
        listening.setblocking(False)  # noqa: FBT003 - a name that the library takes no other way
        receiving = asyncio.create_task(receiver.receive(listening))
        try:
            yield
        finally:
            receiving.cancel()
            await asyncio.wait({receiving})
            receiver.close()


class _Receiver:
    """Accepts connections, and serves those that have shown the service's certificate."""

    def __init__(self, contexts: Contexts, speak: Speak) -> None:
        self._contexts = contexts
        self._speak = speak
        self._strangers: Counter[str] = Counter()
        self._inside: set[asyncio.Task[None]] = set()

    async def receive(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, (address, *_) = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(0.1)  # no file descriptor is left
                continue
            if self._strangers.total() >= STRANGERS or self._strangers[address] >= STRANGERS_OF_ONE:
                connection.close()
                continue
            self._strangers[address] += 1
            task = asyncio.create_task(self._let_in(connection, address))
            self._inside.add(task)
            task.add_done_callback(self._inside.discard)

    async def _let_in(self, connection: socket.socket, address: str) -> None:
        reader = asyncio.StreamReader(limit=LARGEST)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._contexts(), ssl_handshake_timeout=HANDSHAKE_WITHIN
            )
        except OSError:
            connection.close()
            return
        finally:
            self._strangers -= Counter({address: 1})
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            if SERVICE in _names(transport.get_extra_info("peercert")):
                with suppress(OSError, TimeoutError):
                    await self._speak(reader, writer, SILENT_FOR)
        finally:
            if transport.get_write_buffer_size():
                transport.abort()  # the client does not read the rest
            else:
                writer.close()

    def close(self) -> None:
        for task in self._inside:
            task.cancel()


def _names(certificate: dict[str, object] | None) -> list[str]:
    alternative = (certificate or {}).get("subjectAltName", ())
    return [name for kind, name in alternative if kind == "DNS"] if isinstance(alternative, tuple) else []
