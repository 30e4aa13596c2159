"""Limits request bodies to UTF-8 and to a size, on every path, whether the length is declared or not."""

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.http.middleware import is_api_path
from config.http.problems import problem

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_BOUNDARY = re.compile(r"""; *boundary="?([A-Za-z0-9'()+_,./:=? -]*[A-Za-z0-9'()+_,./:=?-])""", re.IGNORECASE)
"""As in RFC 2046. Django accepts boundaries without the quotes that a comma or a space requires."""


class BodyLimitMiddleware:
    """Answers 413 if the declared length of a body is over the limit, without reading any of it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        declared = request.META.get("CONTENT_LENGTH") or "0"
        if declared.isdecimal() and int(declared) > _limit():
            return _too_large(request)
        return self.get_response(request)


def _too_large(request: HttpRequest) -> HttpResponse:
    kibibytes = _limit() // 1024
    if is_api_path(request.path_info):
        return problem(413, "too_large", f"The body is larger than {kibibytes} KiB. Send a smaller one.")
    return render(request, "413.html", {"kibibytes": kibibytes}, status=413)


def bound_chunked_bodies(application: "WSGIApplication") -> "WSGIApplication":
    """Wraps the application so that a body sent in chunks is read, up to one byte past the limit, and gets a length.

    Django reads no body without a declared length, and would tell a client that sends chunks that its body is empty.
    """

    def bounded(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        if chunked and environ.get("wsgi.input_terminated") and not environ.get("CONTENT_LENGTH"):
            body = environ["wsgi.input"].read(_limit() + 1)
            environ["wsgi.input"] = BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        return application(environ, start_response)

    return bounded


def ignore_content_type_parameters(application: "WSGIApplication") -> "WSGIApplication":
    """Wraps the application so that it sees only the media type of a content type, and the boundary of a multipart
    form.

    JSON and our forms are UTF-8. Django looks up any of Python's codecs that a parameter names, in `charset` or as in
    RFC 2231 (`title*=hex''…`), and would fail before any middleware or error handler can answer.
    """

    def without(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        media_type, semicolon, parameters = environ.get("CONTENT_TYPE", "").partition(";")
        if semicolon:
            boundary = _BOUNDARY.search(semicolon + parameters)
            environ["CONTENT_TYPE"] = media_type.strip() + (f"; boundary={boundary[1]}" if boundary else "")
        return application(environ, start_response)

    return without


def _limit() -> int:
    limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return limit
