"""Requests to servers of others: bounded in size and time, and to no address that does not belong to the internet.

Berth's firewall refuses those as well. Here they are refused by what a name stands for when it is connected to.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from assistant.tools.tool import ToolError

MOST_BYTES = 1 << 20
MOST_REDIRECTS = 4
SILENT_SECONDS = 10.0
REDIRECTS = (301, 302, 303, 307, 308)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "192.88.99.0/24", "192.0.0.0/24", "::/96", "64:ff9b:1::/48"))
)
"""Beyond what IANA does not call globally reachable, as the gateway has it: Azure's metadata, relays that are no more,
and what older versions of the library take for global."""
UNREACHABLE = "this address cannot be reached."


@dataclass(frozen=True)
class Fetched:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    address: str

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Guard(httpcore.AsyncNetworkBackend):
    """Connects to the very address that it has checked."""

    def __init__(self, inside: frozenset[str]) -> None:
        self._inside = inside
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if host not in self._inside and not all(map(is_public, addresses)):
            raise ToolError("this address is not on the internet.")
        return await self._network.connect_tcp(addresses[0], port, timeout, local_address, socket_options)


def is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast and not any(found in network for network in NOT_PUBLIC)


class Outside:
    def __init__(self, inside: frozenset[str], proxy: str, given: Sequence[str] = ()) -> None:
        """`inside` lists hosts that may be in private networks. `proxy` is the only way out for an agent that has no
        other. `given` lists addresses of the gateway, which are asked directly because it adds credentials that the
        agent does not have.
        """
        self._inside = inside
        self._proxy = proxy
        self._given = frozenset(given)
        self._pool: httpcore.AsyncConnectionPool | None = None
        self._direct = httpcore.AsyncConnectionPool(max_connections=8, max_keepalive_connections=0)

    async def fetch(
        self, method: str, address: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"",
        enough: Callable[[bytearray], bool] = lambda _: False,
    ) -> Fetched:  # fmt: skip
        """Follows redirects of a GET, and reads until `enough` returns true; it is called after each piece with all
        that has arrived.

        Raises ToolError.
        """
        try:
            for _ in range(MOST_REDIRECTS + 1):
                is_given = self.is_given(address)
                url = self._check(address, is_given=is_given)
                pool = self._direct if is_given else self._connections
                fetched = await _fetch_once(pool, method, url, headers or {}, body, enough)
                if method != "GET" or fetched.status not in REDIRECTS or "location" not in fetched.headers:
                    return fetched
                address = str(url.join(fetched.headers["location"]))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise ToolError(UNREACHABLE) from error
        except (httpx.InvalidURL, httpcore.UnsupportedProtocol, OSError, ValueError) as error:
            raise ToolError(UNREACHABLE) from error
        raise ToolError("this address leads in circles.")

    def is_given(self, address: str) -> bool:
        """Returns whether the gateway adds a credential."""
        return address.partition("?")[0] in self._given

    async def close(self) -> None:
        await self._direct.aclose()
        if self._pool is not None:
            await self._pool.aclose()

    def _check(self, address: str, *, is_given: bool) -> httpx.URL:
        url = httpx.URL(address)
        if url.scheme not in ("http", "https") or not url.host:
            raise ToolError("this is no http or https address.")
        if self._proxy and not is_given and url.scheme != "https":
            raise ToolError("only https addresses can be reached.")
        return url

    @property
    def _connections(self) -> httpcore.AsyncConnectionPool:
        """Creates the pool when it is first needed, because the trusted authorities take a megabyte."""
        if self._pool is None:
            trusted = httpx.create_ssl_context()
            limits: dict[str, Any] = {"max_connections": 8, "max_keepalive_connections": 0}
            if self._proxy:
                self._pool = httpcore.AsyncHTTPProxy(self._proxy, ssl_context=trusted, **limits)
            else:
                guard = Guard(self._inside)
                self._pool = httpcore.AsyncConnectionPool(trusted, network_backend=guard, **limits)
        return self._pool


async def _fetch_once(
    pool: httpcore.AsyncConnectionPool,
    method: str,
    url: httpx.URL,
    headers: Mapping[str, str],
    body: bytes,
    enough: Callable[[bytearray], bool],
) -> Fetched:
    target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    sent = {"User-Agent": "berth-agent/1", "Accept-Encoding": "identity", **headers}
    timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), SILENT_SECONDS)}
    async with pool.stream(
        method, target, headers=list(sent.items()), content=body or None, extensions=timeouts
    ) as answer:
        content = bytearray()
        async for piece in answer.aiter_stream():
            content += piece
            if len(content) > MOST_BYTES or enough(content):
                break
        names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        return Fetched(answer.status, names, bytes(content[:MOST_BYTES]), str(url))
