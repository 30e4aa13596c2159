"""Sends a POST to a URL from an untrusted user, which must lead to the public internet.

The host name is looked up once. All its addresses must be public, and the connection goes to one of them, so that a
later change of the name has no effect. It follows no redirect, uses no proxy, and reads only the head of the answer.
"""

import http.client
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

import requests.utils
import urllib3
import urllib3.exceptions
from django.conf import settings
from django.views.decorators.debug import sensitive_variables
from urllib3.util import parse_url

from containers.firewall.blocked_networks import PRIVATE_NETWORKS, PUBLIC_NETWORKS, TRANSLATED
from containers.outbound import call_limits
from containers.outbound.bounded_http import BoundedConnection, BoundedTLSConnection, bounded_tls
from containers.outbound.call_limits import size_limit, time_limit

HEAD_SIZE = 32 * 1024
"""The most bytes of an answer that are read. A TLS handshake does not count."""

LONGEST_URL = 2000
_PORTS = {"http": 80, "https": 443}

_PRIVATE = {version: tuple(map(ip_network, networks)) for version, networks in PRIVATE_NETWORKS.items()}
_PUBLIC = {version: tuple(map(ip_network, networks)) for version, networks in PUBLIC_NETWORKS.items()}
_FAULTS = (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError, OverflowError, MemoryError)


class AddressRefusedError(Exception):
    """Nothing may be sent to this address. The message is for the user who gave it, and does not repeat it."""


class NoAnswerError(Exception):
    """There was no answer. The message is for the user who gave the address, and does not repeat it."""


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str
    addresses: list[tuple[Any, Any]]
    """Pairs of a socket family and the address to which such a socket connects."""

    @property
    def server(self) -> str:
        """The part of the URL that may be shown, because path and query may contain a credential."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")


@sensitive_variables()
def post(url: str, body: bytes, headers: Mapping[str, str], *, within: float, asker: str = "") -> int:
    """Returns the status of the answer within `within` seconds. Each `asker`, the user who gave the URL, may have only
    a few look-ups at a time. Raises `AddressRefusedError` and `NoAnswerError`.
    """
    try:
        with time_limit(within), size_limit(HEAD_SIZE):
            target = _find(url, asker)
            with closing(_open_pool(target)) as pool:
                options: dict[str, Any] = {"redirect": False, "retries": False, "preload_content": False}
                with closing(pool.urlopen("POST", target.path, body=body, headers=dict(headers), **options)) as answer:
                    return answer.status
    except _FAULTS as error:
        raise NoAnswerError(_describe(error)) from None


@sensitive_variables()
def check_address(url: str, *, within: float, asker: str = "") -> str:
    """Returns the server in a form that may be shown. Raises `AddressRefusedError` or `NoAnswerError`."""
    try:
        with time_limit(within):
            return _find(url, asker).server
    except _FAULTS:
        raise NoAnswerError("This address could not be looked up. Check its name, or try again.") from None


def is_public(address: str) -> bool:
    """Returns whether it is an address of the public internet that does not stand for another address."""
    found = ip_address(address.partition("%")[0])
    if any(found in network for network in _PUBLIC[found.version]):
        return True
    return not any(found in network for network in _PRIVATE[found.version])


@sensitive_variables()
def _find(url: str, asker: str) -> _Target:
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or set(url) & {" ", "\\"}:
        raise AddressRefusedError(f"Write at most {LONGEST_URL} letters, digits and signs, no spaces and backslashes.")
    try:
        parts = parse_url(url)
    except urllib3.exceptions.LocationParseError:
        raise AddressRefusedError("This is not an address of the web.") from None
    if parts.scheme not in _PORTS or not parts.host:
        raise AddressRefusedError("The address must begin with https:// and name a server.")
    if parts.auth is not None:
        raise AddressRefusedError("The address must hold no user name and no password.")
    host = parts.host.strip("[]").rstrip(".")
    port = parts.port or _PORTS[parts.scheme]
    addresses = []
    for family, _, _, _, address in call_limits.resolve(host, port, asker=asker):
        _check(address[0], port, family, is_encrypted=parts.scheme == "https")
        addresses.append((family, address))
    return _Target(parts.scheme, host, port, parts.request_uri, addresses)


def _check(address: str, port: int, family: Any, *, is_encrypted: bool) -> None:
    found = ip_address(address.partition("%")[0])
    if _is_allowed(found, port):
        return
    if not is_public(address) or _is_ours(family, address):
        raise AddressRefusedError(
            "The address leads into a private network or to this machine, where nothing is sent. The staff can allow "
            "it with BERTH_WEBHOOK_ALLOW."
        )
    if not is_encrypted:
        raise AddressRefusedError("The address must begin with https://, so that nobody can read along.")


def _is_allowed(address: IPv4Address | IPv6Address, port: int) -> bool:
    """Returns whether the operator allows it (`BERTH_WEBHOOK_ALLOW`)."""
    allowed = ((ip_network(network), own) for network, own in settings.BERTH_WEBHOOK_ALLOW)
    return any(address in network and own in {None, port} for network, own in allowed)


def _is_ours(family: Any, address: str) -> bool:
    """Returns whether it is an address of this machine: then it is also its own source address. Sends nothing."""
    if family == socket.AF_INET6 and (found := IPv6Address(address.partition("%")[0])) in TRANSLATED:
        family, address = socket.AF_INET, str(IPv4Address(found.packed[-4:]))
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            return False  # there is no route to it
        return bool(probe.getsockname()[0] == address)


def _describe(error: Exception) -> str:
    """Returns a sentence about the error, without its own text, which may repeat the address."""
    reason = getattr(error, "reason", error)
    if isinstance(error, urllib3.exceptions.SSLError) or isinstance(reason, ssl.SSLError):
        return "Its certificate is not valid for this name, or it speaks no TLS."
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return "It did not answer in time."
    if isinstance(error, call_limits.AnswerTooLargeError):
        return "Its answer is too large."
    return "It could not be reached, or its answer could not be read."


class _Pins:
    """A connection to the first of these addresses that answers. It does not look up the host's name again."""

    def __init__(self, *args: Any, addresses: list[tuple[Any, Any]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._addresses = addresses

    def _new_conn(self) -> socket.socket:
        return _connect(self._addresses)


class _Pinned(_Pins, BoundedConnection): ...


class _PinnedTLS(_Pins, BoundedTLSConnection):
    """The certificate must be valid for the host's name."""


def _connect(addresses: list[tuple[Any, Any]]) -> socket.socket:
    failure: OSError = ConnectionError("The host has no address.")
    for family, address in addresses:
        try:
            return call_limits.connect_to(family, address)
        except OSError as error:
            failure = error
    raise failure


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Pinned


class _TLSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _PinnedTLS


def _open_pool(target: _Target) -> urllib3.HTTPConnectionPool:
    if target.scheme == "http":
        return _Pool(target.host, target.port, addresses=target.addresses)
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or requests.utils.DEFAULT_CA_BUNDLE_PATH
    return _TLSPool(target.host, target.port, ssl_context=bounded_tls(), ca_certs=bundle, addresses=target.addresses)
