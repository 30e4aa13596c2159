"""Requests to other servers, limited in size and time, and only to public internet addresses.

Berth's firewall refuses private addresses too. This module checks the address that a name resolves to when it connects.
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
"""Refused in addition to addresses that IANA does not list as globally reachable, as in the gateway: Azure's metadata
service, abandoned 6to4 relays, and networks that older versions of `ipaddress` wrongly call global."""
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
    """Connects to the same address that it has checked, so that a second DNS answer cannot bypass the check."""

    def __init__(self, internal_hosts: frozenset[str]) -> None:
        self._internal_hosts = internal_hosts
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if host not in self._internal_hosts and not all(map(is_public, addresses)):
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


class OutboundClient:
    def __init__(self, internal_hosts: frozenset[str], proxy: str, gateway_addresses: Sequence[str] = ()) -> None:
        """`inside` lists hosts that may be in private networks. `proxy` is the only way out for an agent that has no
        other. `given` lists addresses of the gateway, which are asked directly because it adds credentials that the
        agent does not have.
        """
        self._internal_hosts = internal_hosts
        self._proxy = proxy
        self._gateway_addresses = frozenset(gateway_addresses)
        self._pool: httpcore.AsyncConnectionPool | None = None
        self._direct = httpcore.AsyncConnectionPool(max_connections=8, max_keepalive_connections=0)

    async def fetch(
        self, method: str, address: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"",
        is_complete: Callable[[bytearray], bool] = lambda _: False,
    ) -> Fetched:  # fmt: skip
        """Follows redirects of a GET, and reads until `enough` returns true; it is called after each piece with all
        that has arrived.

        Raises ToolError.
        """
        try:
            for _ in range(MOST_REDIRECTS + 1):
                is_gateway_address = self.is_gateway_address(address)
                url = self._check(address, is_gateway_address=is_gateway_address)
                pool = self._direct if is_gateway_address else self._connections
                fetched = await _fetch_once(pool, method, url, headers or {}, body, is_complete)
                if method != "GET" or fetched.status not in REDIRECTS or "location" not in fetched.headers:
                    return fetched
                address = str(url.join(fetched.headers["location"]))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise ToolError(UNREACHABLE) from error
        except (httpx.InvalidURL, httpcore.UnsupportedProtocol, OSError, ValueError) as error:
            raise ToolError(UNREACHABLE) from error
        raise ToolError("this address leads in circles.")

    def is_gateway_address(self, address: str) -> bool:
        """Returns whether the gateway adds a credential."""
        return address.partition("?")[0] in self._gateway_addresses

    async def close(self) -> None:
        await self._direct.aclose()
        if self._pool is not None:
            await self._pool.aclose()

    def _check(self, address: str, *, is_gateway_address: bool) -> httpx.URL:
        url = httpx.URL(address)
        if url.scheme not in ("http", "https") or not url.host:
            raise ToolError("this is no http or https address.")
        if self._proxy and not is_gateway_address and url.scheme != "https":
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
                guard = Guard(self._internal_hosts)
                self._pool = httpcore.AsyncConnectionPool(trusted, network_backend=guard, **limits)
        return self._pool


async def _fetch_once(
    pool: httpcore.AsyncConnectionPool,
    method: str,
    url: httpx.URL,
    headers: Mapping[str, str],
    body: bytes,
    is_complete: Callable[[bytearray], bool],
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
            if len(content) > MOST_BYTES or is_complete(content):
                break
        names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        return Fetched(answer.status, names, bytes(content[:MOST_BYTES]), str(url))
