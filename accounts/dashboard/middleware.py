"""Whether somebody must have a second factor, and where those are sent who must and have none."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User
from accounts.services.second_factor import has_second_factor

# What it takes to set one up, or to leave.
_OPEN_TO_ALL = frozenset(
    f"accounts:{name}"
    for name in (
        "second-factor",
        "second-factor-confirm",
        "second-factor-picture",
        "sign-in",
        "sign-in-code",
        "sign-out",
    )
)


def needs_second_factor(user: User) -> bool:
    """BERTH_REQUIRE_STAFF_MFA asks it of those who see what is other people's."""
    asked: bool = settings.BERTH_REQUIRE_STAFF_MFA
    return asked and user.is_staff and not has_second_factor(user)


class SecondFactorRuleMiddleware:
    """Sends whoever needs a second factor to its page from every other. /api takes no sessions of the dashboard."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        if not settings.BERTH_REQUIRE_STAFF_MFA or request.path_info.startswith("/api/"):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in _OPEN_TO_ALL:
            return None
        if isinstance(request.user, User) and needs_second_factor(request.user):
            return redirect("accounts:second-factor")
        return None
