"""Sends requests to the gateway of another node over TLS 1.3, with certificates of this installation on both sides."""

import os
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from django.views.decorators.debug import sensitive_variables

from containers.errors import EngineUnavailableError
from containers.gateway.authority import SERVICE, Authority, Identity, Role, period_of
from containers.gateway.transport import LARGEST_ANSWER, NOT_THERE, read_line
from containers.outbound.call_limits import seconds_left

NOT_TRUSTED = "What answers in the place of the gateway has no certificate of this installation for its node."

_PIECE = 65536
_SMALL = 16384
"""Bytes that are sent at once, so that the time limit is checked in between."""


class _UnknownError(Exception):
    """The gateway does not accept the service's certificate."""


def _now() -> datetime:
    return datetime.now(UTC)


class TlsTransport:
    """A transport to another node's gateway. `host` is an address, `name` the name in the gateway's certificate.

    `contexts` are tried in order, because a gateway that does not know a new encryption key yet knows the one before.
    """

    def __init__(self, host: str, port: int, *, name: str, contexts: Callable[[], Sequence[ssl.SSLContext]]) -> None:
        self._address = host, port
        self._name = name
        self._contexts = contexts

    def exchange(self, line: bytes, *, within: float) -> bytes:
        left = seconds_left()
        until = time.monotonic() + (within if left is None else min(within, left))
        for context in self._contexts():
            try:
                return self._try_with(context, line, until)
            except _UnknownError:
                continue
            except ssl.SSLCertVerificationError as error:
                raise EngineUnavailableError(NOT_TRUSTED) from error
            except OSError as error:
                raise EngineUnavailableError(NOT_THERE) from error
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """Does nothing. No connection is kept between exchanges, because it would not show that a network is cut."""

    def _try_with(self, context: ssl.SSLContext, line: bytes, until: float) -> bytes:
        with open_socket(_family_of(self._address[0])) as plain:
            plain.settimeout(_left(until))
            plain.connect(self._address)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(_left(until))
            with context.wrap_socket(plain, server_hostname=self._name) as stream:
                # In TLS 1.3 our certificate may be refused after the handshake has ended on our side.
                try:
                    _send(stream, line, until)
                    first = _receive(stream, until)
                except (ssl.SSLError, ConnectionError) as error:
                    raise _UnknownError from error
                if not first:
                    raise _UnknownError
                return _read_rest(stream, first, until)


def open_socket(family: socket.AddressFamily) -> socket.socket:
    return socket.socket(family, socket.SOCK_STREAM)


def _family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _send(stream: ssl.SSLSocket, line: bytes, until: float) -> None:
    view = memoryview(line)
    while view:
        stream.settimeout(_left(until))
        view = view[stream.send(view[:_SMALL]) :]


def _receive(stream: ssl.SSLSocket, until: float) -> bytes:
    stream.settimeout(_left(until))
    return stream.recv(_PIECE)


def _read_rest(stream: ssl.SSLSocket, first: bytes, until: float) -> bytes:
    answer, piece = bytearray(first), first
    while piece and not answer.endswith(b"\n") and len(answer) <= LARGEST_ANSWER:
        piece = _receive(stream, until)
        answer += piece
    return read_line(bytes(answer))


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class ServiceContexts:
    """Returns a TLS context of the service for each of its encryption keys, with new certificates in each period."""

    @sensitive_variables("keys")
    def __init__(self, keys: Sequence[str], *, instance: str, now: Callable[[], datetime] = _now) -> None:
        self._authorities = [Authority(key, instance=instance) for key in keys]
        self._now = now
        self._made: tuple[int, list[ssl.SSLContext]] | None = None

    def __call__(self) -> Sequence[ssl.SSLContext]:
        now, made = self._now(), self._made
        if made is None or made[0] != period_of(now):
            known = [each.certificate for each in self._authorities]
            issued = [each.issue(Role.SERVICE, SERVICE, now=now) for each in self._authorities]
            self._made = made = period_of(now), [client_context(each, known) for each in issued]
        return made[1]


@sensitive_variables()
def client_context(identity: Identity, authorities: Sequence[str]) -> ssl.SSLContext:
    """Returns the service's TLS context. `authorities` are certificates as PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    context.load_verify_locations(cadata="".join(authorities))
    # The ssl module reads keys only from files. This file is in memory, and no other process can open it.
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write((identity.key + identity.certificate).encode())
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    return context
