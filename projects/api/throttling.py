"""Decides which limit a request counts against: reads, commands or deploys. `accounts` does the counting."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import User
from accounts.throttling.rate_limits import RateLimitState, count_request

if TYPE_CHECKING:
    # The REST framework imports its default throttles, including this module, while it defines APIView.
    from rest_framework.views import APIView


class UserThrottle(BaseThrottle):
    """Counts every request of a user: safe methods as reads, all others against the view's `throttle_scope`.

    Requests without a valid token are not counted, because they are refused or the view is open to everyone.
    """

    state: RateLimitState | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.user, User):
            return True
        safe = request.method in SAFE_METHODS
        scope: str = "reads" if safe else view.throttle_scope  # type: ignore[attr-defined]  # each of our views has it
        self.state = count_request(request.META, user=request.user, scope=scope)
        return self.state is None or self.state.allowed

    def wait(self) -> float | None:
        return self.state.reset if self.state else None
