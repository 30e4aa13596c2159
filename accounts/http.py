"""What a request says about who sent it."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from accounts.models import Scope, User


@dataclass(frozen=True, slots=True)
class Credential:
    """What an API request was authenticated with. Never holds the token itself."""

    kind: Literal["session", "key"]
    label: str  # for the audit trail: `session`, or the name of the key
    scope: Scope = Scope.WRITE
    key_id: UUID | None = None
    jti: str | None = None
    expires_at: datetime | None = None

    @property
    def is_session(self) -> bool:
        return self.kind == "session"


class AuthenticatedRequest(Request):
    """The request of a view that lets nobody in without a token."""

    user: User
    auth: Credential


class SignedInRequest(HttpRequest):
    """The request of a page behind `login_required`."""

    user: User


def client_address(request: HttpRequest | Request) -> str | None:
    """The address of the client, or None where the server does not know one (a Unix socket).

    Each of BERTH_TRUSTED_PROXIES appends to X-Forwarded-For the address it was called from; whatever stands further
    left was sent by the client and proves nothing. A list too short for that did not come through all of them.
    """
    hops = settings.BERTH_TRUSTED_PROXIES
    peer = _address(request.META.get("REMOTE_ADDR", ""))
    if hops == 0:
        return peer
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    return (_address(forwarded[-hops]) if len(forwarded) >= hops else None) or peer


def client_network(address: str | None) -> str:
    """Returns the network that counts as one client: an IPv4 address itself, or the /64 of an IPv6 address.

    One customer of an IPv6 provider has a whole /64, which is 18 million million million addresses.
    """
    if address is None:
        return "unknown"
    network = ip_network(address)
    return str(network.supernet(new_prefix=64)) if isinstance(network, IPv6Network) else address


def _address(text: str) -> str | None:
    """The address in its one canonical spelling, without port, brackets or zone."""
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
