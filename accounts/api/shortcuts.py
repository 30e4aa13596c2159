"""Answers requests that clients poll without the overhead of the REST framework.

One query finds the token's user together with the data for the answer. A shortcut answers only ordinary requests with a
valid token, if the data comes from the database alone. It leaves all others to the view. Both give the same answer,
byte for byte and header for header; tests check that.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from accounts.api.authentication import USERS, hand_over, read_token
from accounts.api.token_query import Found, TokenQuery
from accounts.api.viewsets import answer_session
from accounts.errors import InvalidTokenError
from accounts.services import still_signed_in
from accounts.throttling.rate_limits import count_request

View = Callable[..., Any]
Shortcut = Callable[..., HttpResponse | None]

_ACCEPTED = frozenset({"", "*/*", "application/json"})
"""The `Accept` headers of most clients. The view handles all others."""


def shortened(view: View, shortcut: Shortcut) -> View:
    """Returns a view that tries the shortcut first. A shortcut that returns None leaves the request to the view."""
    methods = _allowed_methods(view)

    @wraps(view)
    def answer(request: HttpRequest, **arguments: Any) -> Any:
        view_from = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
        response = shortcut(request, **arguments) if _is_ordinary(request) else None
        # The token may have been revoked during a slow answer, so the view checks it again.
        if response is None or time.monotonic() >= view_from:
            return view(request, **arguments)
        response.headers["Allow"] = methods
        return response

    return answer


def authenticate(request: HttpRequest | Request, query: TokenQuery, *values: Any) -> Found | None:
    """Returns what the query finds for the request's token. Returns None if there is no valid token or no row."""
    try:
        token = read_token(request)
        return query.read(token, request, *values) if token else None
    except InvalidTokenError:
        return None


def may_read(request: HttpRequest, found: Found) -> bool:
    """Counts the request, and returns whether the limit allows it. If not, hands the user over to the view."""
    user, credential, _ = found
    state = count_request(request.META, user=user, scope="reads")
    if state is None or state.allowed:
        return True
    hand_over(request, user, credential)
    return False


def session_shortcut(request: HttpRequest) -> HttpResponse | None:
    """Does not count the request, like its view."""
    found = None if request.META.get("QUERY_STRING") else authenticate(request, USERS)
    return answer_session(request, found[0]) if found else None


def _is_ordinary(request: HttpRequest) -> bool:
    return request.method == "GET" and request.META.get("HTTP_ACCEPT", "") in _ACCEPTED


def _allowed_methods(view: Any) -> str:
    """Returns the `Allow` header of the view's answers. A view that allows GET also allows HEAD."""
    known = view.cls.http_method_names
    own = getattr(view, "actions", None) or [name for name in known if hasattr(view.cls, name)]
    return ", ".join(name.upper() for name in known if name in {*own, "head", "options"})
