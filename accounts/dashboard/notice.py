"""Shows the notice on all pages, and refuses forms during maintenance."""

from collections.abc import Callable
from typing import Any

from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject

from accounts.errors import MaintenanceError
from accounts.models import Notice
from accounts.services.notice import check_maintenance, read_shown_notice

_READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_APPS = frozenset({"accounts", "projects"})

GO_ON = frozenset(
    f"accounts:{name}"
    for name in ("sign-in", "sign-in-code", "sign-out", "sign-out-everywhere", "end-session", "revoke-key")
)
"""Always possible: signing in and out, and revoking the sessions and keys of a thief."""


def add_notice(_request: HttpRequest) -> dict[str, Any]:
    """Adds the notice to the context of all templates. It is read only when a template shows it."""
    return {"notice": SimpleLazyObject(_read_if_possible)}


def _read_if_possible() -> Notice:
    try:
        return read_shown_notice()
    except DatabaseError:
        return Notice()


class MaintenanceMiddleware:
    """Answers forms of everyone except staff with 503 during maintenance. Only staff can use the admin, and /api has
    permissions of its own.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        match = request.resolver_match
        is_page = match is not None and bool(_APPS & set(match.app_names)) and not match.route.startswith("api/")
        if match is None or not is_page or request.method in _READING or match.view_name in GO_ON:
            return None
        try:
            check_maintenance(request.user)
        except MaintenanceError as error:
            response = render(request, "maintenance.html", {"error": error}, status=503)
            response["Retry-After"] = str(error.retry_after)
            return response
        return None
