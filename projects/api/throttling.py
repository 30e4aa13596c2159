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

    state: RateLimitState | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002 - DRF's signature
        if not isinstance(request.user, User):
            return True
        self.state = count_request(request.META, user=request.user, scope=_scope(request))
        return self.state is None or self.state.allowed

    def wait(self) -> float | None:
        return self.state.reset if self.state else None


def count_form(request: SignedInRequest, scope: str) -> None:
    """A form of the dashboard counts like a request of the API. Raises `TooManyRequestsError`."""
    state = count_request(request.META, user=request.user, scope=scope)
    if state is not None and not state.allowed:
        raise TooManyRequestsError(retry_after=state.reset)


def _scope(request: Request) -> str:
    if request.method in SAFE_METHODS:
        return "reads"
    route = request.resolver_match.url_name if request.resolver_match else None
    return "deploys" if route in _DEPLOYS else "commands"
