"""Sends a request and yields its answer while it arrives. Standard library only; one connection for each request."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import IO
from urllib.parse import urlsplit

CONNECT_SECONDS = 10.0

# Headers of one connection only (RFC 9110, 7.6.1), and those that the relay sets itself.
OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-api-key",
    }
)


@contextmanager
def ask(
    method: str, url: str, headers: Mapping[str, str], body: bytes | IO[bytes] | None, *, silence: float
) -> Iterator[HTTPResponse]:
    """Yields the answer, before its body is read. Raises `OSError` or `HTTPException` if there is none.

    `silence` is the number of seconds for which nothing may arrive. If the body is a stream, `headers` need its length.
    """
    parts = urlsplit(url)
    assert parts.hostname is not None  # noqa: S101 - read_url has checked it
    connection: HTTPConnection
    if parts.scheme == "https":
        connection = HTTPSConnection(
            parts.hostname, parts.port, timeout=CONNECT_SECONDS, context=ssl.create_default_context()
        )
    else:
        connection = HTTPConnection(parts.hostname, parts.port, timeout=CONNECT_SECONDS)
    try:
        connection.connect()
        assert connection.sock is not None  # noqa: S101 - connected
        connection.sock.settimeout(silence)
        connection.request(method, f"{parts.path}{'?' + parts.query if parts.query else ''}", body, dict(headers))
        with connection.getresponse() as answer:
            yield answer
    finally:
        connection.close()


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers to pass on. Omits accept-encoding, because the relay must be able to read the answer."""
    return {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}
