"""Skips middleware that only pages need (cookies, forms, files, messages) for all other requests.

/api accepts no cookie, and neither do health checks and `/metrics`, so they have neither a session nor a form.
Middleware that they need as well is placed before `ForPages` or after `ForAll` in the settings.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse

from config.http.hosts import PLAIN_PATHS
from config.http.middleware import Next, is_api_path


class ForAll:
    """The middleware after this one applies to all requests."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class ForPages:
    """The middleware after this one, up to `ForAll`, applies to pages only."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.past_pages = _find_end(get_response).get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (is_api_path(request.path_info) or request.path_info in PLAIN_PATHS):
            return self.get_response(request)
        response = self.past_pages(request)
        has_body = response.status_code not in {204, 304}
        if has_body and not response.streaming and "Content-Length" not in response.headers:
            response.headers["Content-Length"] = str(len(response.content))
        return response


def _find_end(handler: Any) -> ForAll:
    """Django wraps each middleware in a function that handles its exceptions and names what it wraps."""
    while handler is not None:
        middleware = getattr(handler, "__wrapped__", None)
        if isinstance(middleware, ForAll):
            return middleware
        handler = getattr(middleware, "get_response", None)
    raise ImproperlyConfigured("MIDDLEWARE has ForPages and no ForAll behind it.")
