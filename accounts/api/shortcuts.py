"""Shortcuts past the REST framework for what is polled.

One query finds the token's user together with what the answer needs. A shortcut answers only what goes well: the
ordinary request with a good token, whose answer the database alone tells. Everything else is left to the view that it
stands before. Both give the same answer, to the byte and to the header; tests hold them to it.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.api.authentication import USERS, hand_over, read_token
from accounts.api.token_query import Found, TokenQuery
from accounts.api.viewsets import answer_session
from accounts.errors import InvalidTokenError
from accounts.services import still_signed_in
from accounts.throttling.rate_limits import count_request

View = Callable[..., Any]
Shortcut = Callable[..., HttpResponse | None]

_ACCEPTED = frozenset({"", "*/*", "application/json"})
"""What most clients accept. The REST framework looks at the others."""


def shortened(view: View, shortcut: Shortcut) -> View:
    """The view behind its shortcut, which returns None for what it leaves to the view."""
    methods = _allowed_methods(view)

    @wraps(view)
    def answer(request: HttpRequest, **arguments: Any) -> Any:
        view_from = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
        response = shortcut(request, **arguments) if _is_ordinary(request) else None
        # What took long is not told to somebody whose token was revoked meanwhile: the view asks again.
        if response is None or time.monotonic() >= view_from:
            return view(request, **arguments)
        response.headers["Allow"] = methods
        return response

    return answer


def authenticate(request: HttpRequest, query: TokenQuery, *values: Any) -> Found | None:
    """What the query finds for the request's token; None where it finds nothing."""
    try:
        token = read_token(request)
        return query.read(token, request, *values) if token else None
    except InvalidTokenError:
        return None


def may_read(request: HttpRequest, found: Found) -> bool:
    """Counts the request. Tells the view who it is from, where that has to refuse it."""
    user, credential, _ = found
    state = count_request(request.META, user=user, scope="reads")
    if state is None or state.allowed:
        return True
    hand_over(request, user, credential)
    return False


def session_shortcut(request: HttpRequest) -> HttpResponse | None:
    """Counts nothing, as its view."""
    found = None if request.META.get("QUERY_STRING") else authenticate(request, USERS)
    return answer_session(request, found[0]) if found else None


def _is_ordinary(request: HttpRequest) -> bool:
    return request.method == "GET" and request.META.get("HTTP_ACCEPT", "") in _ACCEPTED


def _allowed_methods(view: Any) -> str:
    """The `Allow` header of the view's answers. Where GET is allowed, HEAD is too."""
    known = view.cls.http_method_names
    own = getattr(view, "actions", None) or [name for name in known if hasattr(view.cls, name)]
    return ", ".join(name.upper() for name in known if name in {*own, "head", "options"})
