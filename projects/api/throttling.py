"""Which limit a request counts against: reads, deploys, or commands. The counting is in `accounts`."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.http import SignedInRequest
from accounts.models import User
from accounts.throttling.rate_limits import RateLimitState, count_request
from projects.errors import TooManyRequestsError

if TYPE_CHECKING:
    # The REST framework imports its default throttles, this module, while it makes APIView.
    from rest_framework.views import APIView

_DEPLOYS = frozenset({"projects", "project-validate"})
"""Names of the routes whose POST asks Telegram, the provider and the engine for a new agent."""


class UserThrottle(BaseThrottle):
    """Counts every request that carries a valid token. The others are refused, or are nobody's."""

    standing: RateLimitState | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002 - DRF's signature
        if not isinstance(request.user, User):
            return True
        self.standing = count_request(request.META, user=request.user, scope=_scope(request))
        return self.standing is None or self.standing.allowed

    def wait(self) -> float | None:
        return self.standing.reset if self.standing else None


def count_form(request: SignedInRequest, scope: str) -> None:
    """A form of the dashboard counts like a request of the API. Raises `TooManyRequestsError`."""
    standing = count_request(request.META, user=request.user, scope=scope)
    if standing is not None and not standing.allowed:
        raise TooManyRequestsError(retry_after=standing.reset)


def _scope(request: Request) -> str:
    if request.method in SAFE_METHODS:
        return "reads"
    route = request.resolver_match.url_name if request.resolver_match else None
    return "deploys" if route in _DEPLOYS else "commands"
