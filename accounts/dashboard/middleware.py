"""Rules for all pages of signed-in users: the required second factor, and the limit of requests per minute."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.models import User
from accounts.services.second_factor import has_second_factor
from accounts.throttling.rate_limits import count_request

# The pages that set up a second factor, or sign in and out.
_EXEMPT_VIEWS = frozenset(
    (
        "accounts:second-factor",
        "accounts:second-factor-confirm",
        "accounts:second-factor-picture",
        "accounts:sign-in",
        "accounts:sign-in-code",
        "accounts:sign-out",
        "admin:logout",
    )
)


def needs_second_factor(user: User) -> bool:
    """Returns whether BERTH_REQUIRE_STAFF_MFA applies to the user, because staff see the data of other people."""
    required: bool = settings.BERTH_REQUIRE_STAFF_MFA
    return required and user.is_staff and not has_second_factor(user)


class SecondFactorRuleMiddleware:
    """Redirects users who need a second factor from all pages to its setup. /api accepts no dashboard sessions."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        # Requests that `config.http.page_middleware` does not treat as pages have no `user`.
        if not settings.BERTH_REQUIRE_STAFF_MFA or not hasattr(request, "user"):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in _EXEMPT_VIEWS:
            return None
        if isinstance(request.user, User) and needs_second_factor(request.user):
            return redirect("accounts:second-factor")
        return None


_COUNTED = frozenset({"accounts", "projects", "admin"})
_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def _find_scope(request: HttpRequest, view: Any) -> str:
    if request.method in _READING:
        return "reads"
    declared: str | Callable[[HttpRequest], str] = getattr(view, "throttle_scope", "commands")
    return declared if isinstance(declared, str) else declared(request)


class PageLimitMiddleware:
    """Counts requests of a signed-in user to the pages together with those to the API, and by the same rules.

    Reads count as reads, with any reading method, because many views of the admin answer each with a full page. Other
    requests count against the view's `throttle_scope` (`counts_as`), or as commands. So does a form with errors,
    because its answer is a full page, too.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        match = request.resolver_match
        is_page = match is not None and bool(_COUNTED & set(match.app_names)) and not match.route.startswith("api/")
        # Health checks never get here, because looking up the user needs the database.
        if not is_page or not isinstance(request.user, User):
            return None
        state = count_request(request.META, user=request.user, scope=_find_scope(request, view))
        if state is None or state.allowed:
            return None
        response = render(request, "429.html", {"seconds": state.reset}, status=429)
        response["Retry-After"] = str(state.reset)
        return response
