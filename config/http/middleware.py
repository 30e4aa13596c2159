"""Gives every request an id, a deadline and a line in the access log, and every answer its headers."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.database.limits import request_limits
from config.logs.access import log_access
from config.metrics.requests import name_request, note_request
from config.pause_detection import PAUSE_DETECTOR
from containers.outbound.call_limits import time_limit
from containers.processes.tracing import span

Next = Callable[[HttpRequest], HttpResponse]

_request_id: ContextVar[str] = ContextVar("request_id", default="-")
_WELL_FORMED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_READS, _FAILED = frozenset(("GET", "HEAD")), frozenset((502, 503, 504))
_FEATURES = ("camera", "geolocation", "microphone", "payment", "usb", "browsing-topics")

ARRIVED_AT = "berth.arrived_at"
"""WSGI environment key: when the whole request had arrived, on the monotonic clock."""

OUTSIDE_WITHIN = 28.0
"""Seconds after its arrival until which a request may wait for the engine and for others."""

DATABASE_WITHIN = 29.0
"""The same for the database, where the outcome is recorded last. Every answer comes within 30 seconds."""


AGAIN_WITHIN = 5.0
"""Minimum seconds for a read that is repeated, however late it is."""


def current_request_id() -> str:
    """Returns the id of the request that this thread serves or served last, or `-` if there was none."""
    return _request_id.get()


def begin_request(sent: str = "") -> str:
    """Returns the id of the request that this thread serves from now on: the client's own if that is well-formed."""
    request_id = sent if _WELL_FORMED_ID.fullmatch(sent) else uuid.uuid4().hex
    _request_id.set(request_id)
    return request_id


def is_api_path(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to every record that has none yet."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "request_id"):
            record.request_id = current_request_id()
        return True


class RequestIdMiddleware:
    """Gives the request an id, the client's own if that is well-formed, counts it, and writes the access log."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Never reset: a streamed answer logs its lines after this method has returned.
        sent = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = begin_request(sent)
        began = time.perf_counter()
        with span("request") as describe:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id
            seconds = time.perf_counter() - began
            note_request(request, status=response.status_code, seconds=seconds)
            describe(name_request(request), http_status=response.status_code)
        log_access(
            method=request.method or "",
            path=request.path,
            status=response.status_code,
            milliseconds=seconds * 1000,
            request_id=request_id,
            is_our_id=request_id != sent,
        )
        return response


class TimeLimitMiddleware:
    """Limits everything that the request waits for, from its arrival: it may have waited for a thread.

    A read that failed because this process stood still is repeated, because a proxy would pass the 503 on. Another
    thread sends the body of a stream, after this has returned.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        arrived = request.META.get(ARRIVED_AT, time.monotonic())
        response = self._answer(request, arrived)
        if request.method in _READS and response.status_code in _FAILED and PAUSE_DETECTOR.paused_since(arrived):
            connections.close_all()  # this thread's own: failed connections are replaced
            enough = time.monotonic() + AGAIN_WITHIN - OUTSIDE_WITHIN
            response = self._answer(request, max(arrived, enough))
        return response

    def _answer(self, request: HttpRequest, arrived: float) -> HttpResponse:
        waited = time.monotonic() - arrived
        with time_limit(OUTSIDE_WITHIN - waited), request_limits(DATABASE_WITHIN - waited):
            return self.get_response(request)


class PrivateAnswersMiddleware:
    """Forbids caches to store an answer, unless its view or the server of static files says that it is public."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code >= 400 or "public" not in response.get("Cache-Control", ""):
            response["Cache-Control"] = "no-store"
        return response


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """Builds the policy once, for all answers whose view does not change it. Ours has no nonce."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if HEADER in response or any(name.startswith("_csp") for name in vars(response)):
            return super().process_response(request, response)
        response[HEADER] = self._policy
        return response

    @cached_property
    def _policy(self) -> str:
        return build_policy()


class PermissionsPolicyMiddleware:
    """Tells browsers that our pages use no sensors."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.policy = ", ".join(f"{feature}=()" for feature in _FEATURES)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response["Permissions-Policy"] = self.policy
        return response
