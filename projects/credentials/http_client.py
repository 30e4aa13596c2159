"""Sends single requests to outside servers, with limits on time and response size, without following redirects."""

import http.client
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests.utils
import urllib3
import urllib3.exceptions
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.outbound.bounded_http import BOUNDED_POOLS, bounded_tls
from containers.outbound.call_limits import size_limit
from containers.outbound.foreign_json import read_json

ANSWER_SIZE = 64 * 1024
"""The maximum bytes of a response with its head. The largest one that is needed has less than a tenth of this."""

_OUR_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"Berth/{settings.BERTH_VERSION}",
}
_FAULTS = (
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,  # a URL or header that cannot be sent, a head that cannot be read
    OverflowError,
    MemoryError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The status, or None if there was no response, and the JSON object in the body, or an empty one."""

    status: int | None = None
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@sensitive_variables()
def ask(url: str, headers: dict[str, str] | None = None, *, reads_body: bool = True) -> Answer:
    """Returns the response to a GET within the caller's `time_limit`. Raises nothing: errors count as no response."""
    status = None
    try:
        with _get(url, headers or {}) as response:
            status = response.status
            return Answer(status=status, body=_read_object(response) if reads_body else {})
    except _FAULTS:
        return Answer(status=status)


@sensitive_variables()
def fetch(url: str) -> bytes:
    """Returns the file at this address within the caller's `time_limit`, or nothing if it cannot be read."""
    try:
        with _get(url, {"Accept": "*/*"}) as response:
            return response.read(ANSWER_SIZE, decode_content=False) if response.status == 200 else b""
    except _FAULTS:
        return b""


@contextmanager
def _get(url: str, headers: dict[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
    with size_limit(ANSWER_SIZE), _open_pools(url) as pools:
        response = pools.request(
            "GET",
            url,
            headers={**_OUR_HEADERS, **headers},
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
        )
        with closing(response):
            yield response


def _read_object(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    """Returns the JSON object in the body. Does not read a compressed body, which may expand to any size."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        return {}
    body = read_json(response.read(ANSWER_SIZE, decode_content=False))
    return body if isinstance(body, dict) else {}


def _open_pools(url: str) -> urllib3.PoolManager:
    """Returns connections, through the environment's proxy for this address if there is one."""
    authorities = (
        os.environ.get("REQUESTS_CA_BUNDLE")
        or os.environ.get("CURL_CA_BUNDLE")
        or requests.utils.DEFAULT_CA_BUNDLE_PATH
    )
    options: dict[str, Any] = {}
    if url.startswith("https:"):
        options = {"ssl_context": bounded_tls(), "ca_certs": authorities}
    proxy = requests.utils.select_proxy(url, requests.utils.get_environ_proxies(url))
    pools: urllib3.PoolManager
    if proxy is None:
        pools = urllib3.PoolManager(**options)
    else:
        name, password = requests.utils.get_auth_from_url(proxy)
        login = urllib3.make_headers(proxy_basic_auth=f"{name}:{password}") if name else None
        address = proxy if "://" in proxy else f"http://{proxy}"
        pools = urllib3.ProxyManager(address, proxy_headers=login, proxy_ssl_context=bounded_tls(), **options)
    pools.pool_classes_by_scheme = BOUNDED_POOLS
    return pools
