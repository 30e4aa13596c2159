"""Finds out who sent a request: address, program and credential."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from accounts.models import Scope, User

_PASSED_ON = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")
"""Headers by which proxies say that they pass a request on."""


@dataclass(frozen=True, slots=True)
class Credential:
    """How an API request was authenticated. It never holds the token itself."""

    kind: Literal["session", "key"]
    label: str  # for the audit trail: `session`, or the name of the key
    scope: Scope = Scope.WRITE
    key_id: UUID | None = None
    jti: str | None = None
    expires_at: datetime | None = None
    maintenance: str | None = None  # the notice if maintenance was on when it was read

    @property
    def is_session(self) -> bool:
        return self.kind == "session"


class AuthenticatedRequest(Request):
    """The request of a view that requires a token."""

    user: User
    auth: Credential


class SignedInRequest(HttpRequest):
    """The request of a page behind `login_required`."""

    user: User
    htmx: HtmxDetails


def client_address(request: HttpRequest | Request) -> str | None:
    """Returns the address of the client, or None if the server does not know one (a Unix socket).

    Each of BERTH_TRUSTED_PROXIES appends the address of its caller to X-Forwarded-For. The entries further left were
    sent by the client and prove nothing. A list that is too short did not come through all proxies.
    """
    return _forwarded_address(request) or _address(request.META.get("REMOTE_ADDR", ""))


_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "CrOS", "Linux")
_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
"""Prefixes in the header and the names of the browsers, in order of precedence, because most browsers also claim to be
others."""


def client_program(request: HttpRequest | Request) -> str:
    """Returns the name of the client in at most two words: `Firefox, Linux`. It is only a hint, because a client can
    claim to be any program.
    """
    agent = request.META.get("HTTP_USER_AGENT", "")[:500]
    browser = next((name for mark, name in _BROWSERS if f"{mark}/" in agent), "")
    if not browser:
        named = "".join(character for character in agent.partition("/")[0] if character.isascii())
        return named[:40].strip() if named.isprintable() else ""
    system = next((name for name in _SYSTEMS if name in agent), "")
    return f"{browser}, {system}" if system else browser


def is_on_this_machine(request: HttpRequest) -> bool:
    """Returns whether the client is on this machine. A client without an address came through a Unix socket.

    Returns False if an untrusted proxy passed the request on, or not all trusted ones did: the address is then that
    of the last proxy, which may itself run on this machine.
    """
    if forwarded := _forwarded_address(request):
        return ip_address(forwarded).is_loopback
    if any(header in request.META for header in _PASSED_ON):
        return False
    address = client_address(request)
    return address is None or ip_address(address).is_loopback


def is_asked_here(request: HttpRequest) -> bool:
    """Returns whether the client is on this machine. A request with any header of a proxy counts as from elsewhere.

    Also requires a local `Host`, because a foreign page whose host name resolves to this machine must not pass.
    """
    if any(header in request.META for header in _PASSED_ON):
        return False
    host = request.META.get("HTTP_HOST", "").strip()
    is_named = host.partition(":")[0].lower() == "localhost" or is_loopback(host)
    return is_named and is_loopback(request.META.get("REMOTE_ADDR", ""))


def is_loopback(host: str) -> bool:
    """Returns whether the host is a loopback address, with or without a port."""
    address = _address(host)
    return address is not None and ip_address(address).is_loopback


def _forwarded_address(request: HttpRequest | Request) -> str | None:
    """Returns the address that our first proxy saw. Returns None if there are no proxies or too few passed the request
    on.
    """
    hops = settings.BERTH_TRUSTED_PROXIES
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    return _address(forwarded[-hops]) if 0 < hops <= len(forwarded) else None


def client_network(address: str | None) -> str:
    """Returns the network that counts as one client: an IPv4 address itself, or the /64 of an IPv6 address.

    One customer of an IPv6 provider has a whole /64, which is 18 million million million addresses.
    """
    if address is None:
        return "unknown"
    network = ip_network(address)
    return str(network.supernet(new_prefix=64)) if isinstance(network, IPv6Network) else address


def _address(text: str) -> str | None:
    """Returns the address in its canonical spelling, without port, brackets or zone."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)
