"""Tells people that a form that they sent after the end of their session was not carried out."""

from collections.abc import Callable

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

MARK = "#unsent"
"""At the end of the address to show after signing in. As a fragment it passes through all pages of the sign-in."""


class UnsentFormMiddleware:
    """Marks the address to return to if a POST is redirected to the sign-in page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_redirected = request.method == "POST" and isinstance(response, HttpResponseRedirect)
        # A user whose session ended during the work is redirected, too, but the work may be done.
        if is_redirected and not request.user.is_authenticated:
            response["Location"] = _mark(response["Location"])
        return response


def _mark(location: str) -> str:
    """Returns the location of the sign-in page with a marked target. Returns other locations unchanged."""
    path, _, query = location.partition("?")
    values = QueryDict(query, mutable=True)
    if path not in {reverse("accounts:sign-in"), reverse("admin:login")} or REDIRECT_FIELD_NAME not in values:
        return location
    values[REDIRECT_FIELD_NAME] = f"{values[REDIRECT_FIELD_NAME]}{MARK}"
    return f"{path}?{values.urlencode(safe='/')}"
