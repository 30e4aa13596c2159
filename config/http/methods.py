"""Says in words that an address does not take a method. Django's decorators refuse it without a body."""

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.exceptions import MethodNotAllowed

from config.http.hosts import PLAIN_PATHS
from config.http.middleware import is_api_path
from config.http.problems import TABLE, problem

_READING = frozenset({"GET", "HEAD"})
FOR_PROGRAMS = PLAIN_PATHS | {"/cli"}
"""Their refusals need no database."""


class MethodMiddleware:
    """Replaces an empty 405 by the usual error page. Keeps `Allow`, which names the methods that there are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.streaming or response.content:
            return response
        refused = _refuse(request)
        refused["Allow"] = response.get("Allow", "")
        return refused


def _refuse(request: HttpRequest) -> HttpResponse:
    detail = TABLE[MethodNotAllowed].detail or ""
    if is_api_path(request.path_info):
        return problem(405, "method_not_allowed", detail)
    if request.path_info in FOR_PROGRAMS:
        return HttpResponse(f"{detail}\n", status=405, content_type="text/plain; charset=utf-8")
    return render(request, "405.html", {"is_visit": request.method in _READING}, status=405)
