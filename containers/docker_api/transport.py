"""The HTTP transport to the Docker engine: one pool of connections, on which whole calls are limited."""

import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
import requests.adapters
from requests.structures import CaseInsensitiveDict

from containers.docker_api.short_connections import ShortConnections
from containers.outbound.bounded_http import BoundedPool, BoundedTLSPool, bounded_tls


class BoundedAdapter(requests.adapters.HTTPAdapter):
    """Sends requests to the engine at `base_url` (`http+unix://`, `http://` or `https://`).

    It keeps up to `size` connections open. It refuses compressed answers, which it never asks for, because their
    content may be a thousand times their size.
    """

    def __init__(self, base_url: str, *, size: int, verify: bool = True) -> None:
        super().__init__()
        parts = urlsplit(base_url)
        self._pool: BoundedPool | BoundedTLSPool
        if parts.scheme == "http+unix":
            path = "/" + base_url.removeprefix("http+unix://").lstrip("/")
            self._pool = BoundedPool("localhost", maxsize=size, unix_path=path)
        elif parts.scheme == "https":
            host, port = parts.hostname or "localhost", parts.port or 443
            self._pool = BoundedTLSPool(host, port, maxsize=size, ssl_context=bounded_tls(verify=verify))
        else:
            self._pool = BoundedPool(parts.hostname or "localhost", parts.port or 80, maxsize=size)
        host = "localhost" if parts.scheme == "http+unix" else parts.netloc
        self._short = ShortConnections(self._pool.open_socket, host=host, size=size)

    def send(self, *args: Any, **options: Any) -> requests.Response:
        response = super().send(*args, **options)
        _check_is_plain(response)
        return response

    def ask(
        self, method: str, target: str, *, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> requests.Response:
        """Sends a request and reads the whole answer, without the overhead of requests. Not over TLS.

        Raises the errors of `ShortConnections`, while `send` raises those of requests.
        """
        answer = self._short.ask(method, target, body=body, headers=headers, timeout=timeout)
        response = requests.Response()
        response.status_code, response.reason = answer.status, answer.reason
        response.headers = CaseInsensitiveDict(answer.headers)
        response._content = answer.body  # noqa: SLF001 - there is no other way to set a body that was read
        response._content_consumed = True  # type: ignore[attr-defined]  # noqa: SLF001 - the same
        _check_is_plain(response)
        return response

    def get_connection_with_tls_context(self, *_args: Any, **_options: Any) -> BoundedPool | BoundedTLSPool:
        """Returns the one pool. docker-py's own adapter would open a pool for every path, and never use it again."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> str:
        return request.path_url

    def open_socket(self) -> socket.socket:
        """Returns a new connection that the caller owns, over TLS if the engine uses it."""
        return self._pool.open_socket()

    def close(self) -> None:
        super().close()
        self._pool.close()
        self._short.close()


def _check_is_plain(response: requests.Response) -> None:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity":
        response.close()
        raise requests.exceptions.ContentDecodingError("The answer is compressed.")
