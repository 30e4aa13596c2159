"""docker-py's client, with short calls made without requests, which halves the processor time of a call."""

import re
from functools import partial
from http import HTTPStatus
from types import NoneType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import docker
import requests

from containers.docker_api.api_version import choose_version
from containers.docker_api.counted_requests import send_counted
from containers.docker_api.transport import BoundedAdapter

# The type stubs lack half of docker-py's methods, and everything that a subclass uses.
_APIClient: Any = docker.APIClient

OTHER_VERSION = re.compile(r"client version [\d.]+ is too (old|new)")
"""Docker's message that it does not support a version of the API, or no longer does."""

_KNOWN = {"params", "data", "json", "headers", "timeout", "stream", "allow_redirects"}


class _Short(NamedTuple):
    """A request with a complete body, whose answer is read at once."""

    query: str
    body: bytes | None
    headers: dict[str, str]
    timeout: float


class ShortRequests(_APIClient):  # type: ignore[misc]  # Any, by the line above
    _bounded: BoundedAdapter
    _asks_shortly = False
    """Whether the connections of `_bounded` need no settings from requests, such as a certificate."""

    def request(self, method: str, url: str, *args: Any, **options: Any) -> requests.Response:
        response = send_counted(method, url, partial(self._send, method, url, *args, **options))
        other = self._find_other_version(url, response)
        if not other or not isinstance(options.get("data"), (str, bytes, NoneType)):
            return response
        url = url.replace(url.split("/")[3], f"v{other}", 1)
        return send_counted(method, url, partial(self._send, method, url, *args, **options))

    def read_past_events(self, params: dict[str, str]) -> bytes:
        """Returns the events until a past moment, one per line."""
        body: bytes = self._result(self._get(self._url("/events"), params=params), binary=True)
        return body

    def _find_other_version(self, url: str, response: requests.Response) -> str:
        """Returns the API version to use from now on if the engine, which was up- or downgraded meanwhile, refused the
        version in the URL, and therefore did nothing. Otherwise returns an empty string.
        """
        if response.status_code != HTTPStatus.BAD_REQUEST or not OTHER_VERSION.search(response.text):
            return ""
        self._version = self._retrieve_server_version()
        return "" if url.split("/")[3] == f"v{self._version}" else str(self._version)

    def _retrieve_server_version(self) -> str:
        return choose_version(self.version(api_version=False))

    def _send(self, method: str, url: str, *args: Any, **options: Any) -> requests.Response:
        short = _read(options) if self._asks_shortly and not args else None
        if short is None:
            response: requests.Response = super().request(method, url, *args, **options)
            return response
        target = "/" + url.split("/", 3)[3] + (f"?{short.query}" if short.query else "")
        headers = {**self.headers, **short.headers}
        return self._bounded.ask(method, target, body=short.body, headers=headers, timeout=short.timeout)


def _read(options: dict[str, Any]) -> _Short | None:
    """Returns the request that docker-py wants to send, or None if only requests can: a stream, a file, a form."""
    data, timeout = options.get("data"), options.get("timeout")
    is_whole = data is None or isinstance(data, (str, bytes))
    if not (is_whole and isinstance(timeout, (int, float)) and options.keys() <= _KNOWN):
        return None
    if options.get("stream") or options.get("json") is not None:
        return None
    params = {name: value for name, value in (options.get("params") or {}).items() if value is not None}
    body = data.encode() if isinstance(data, str) else data
    return _Short(urlencode(params, doseq=True), body, dict(options.get("headers") or {}), float(timeout))
