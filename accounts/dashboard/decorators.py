"""Decorators of the pages that require a session."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.errors import InvalidTokenError
from accounts.http import SignedInRequest

Page = Callable[..., HttpResponse]


def for_signed_in(view: Page) -> Page:
    """Redirects visitors without a session to the sign-in page, even if the session ends while the page is being
    prepared.
    """

    @wraps(view)
    def wrapped(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except InvalidTokenError:
            return redirect("accounts:settings")  # which redirects to the sign-in page

    return login_required(require_http_methods(["GET", "HEAD", "POST"])(wrapped))


def counts_as(scope: str | Callable[[HttpRequest], str]) -> Callable[[Page], Page]:
    """Decorates a page whose forms count against this scope of BERTH_LIMITS. By default they count as commands.

    A page with forms of several scopes gives a function that returns the scope of a request. A scope without a limit is
    for forms that a thief of a session must not be able to block, or that end what is under way.
    """

    def decorate(view: Page) -> Page:
        view.throttle_scope = scope  # type: ignore[attr-defined]  # the middleware looks for it
        return view

    return decorate


def settings_form(view: Page) -> Page:
    """Decorates the view of a form on the settings page. A GET, as after signing in again, redirects to that page."""

    @wraps(view)
    def wrapped(request: SignedInRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, *args, **kwargs) if request.method == "POST" else redirect("accounts:settings")

    return for_signed_in(wrapped)
