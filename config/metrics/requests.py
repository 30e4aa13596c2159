"""Counts requests by route, method and status, and measures how long they take."""

from django.http import HttpRequest
from prometheus_client import Histogram

from containers.processes.process_metrics import PROCESS

SECONDS = Histogram(
    "berth_http_request_duration_seconds",
    "Seconds from the first middleware to the answer, or to the beginning of a stream.",
    ["route", "method", "status"],
    buckets=(0.005, 0.01, 0.025, 0.1, 0.25, 1, 5, 30),
    registry=PROCESS,
)

MOST_SERIES = 400
"""Maximum number of series in a process. Later ones are counted as one route per status, because anyone may try each
method on each route."""

NO_ROUTE, OTHER = "none", "other"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_known: dict[tuple[str, str, int], Histogram] = {}


def note_request(request: HttpRequest, *, status: int, seconds: float) -> None:
    match = request.resolver_match
    key = (match.view_name if match else NO_ROUTE, request.method or "", status)
    series = _known.get(key)
    if series is None:
        series = _find(*key)
    series.observe(seconds)


def name_request(request: HttpRequest) -> str:
    """Returns a name made of our own words, such as `GET project-list`, and never of text from the request."""
    method = request.method if request.method in METHODS else OTHER
    return f"{method} {request.resolver_match.view_name if request.resolver_match else NO_ROUTE}"


def _find(route: str, method: str, status: int) -> Histogram:
    method = method if method in METHODS else OTHER
    if (known := _known.get((route, method, status))) is not None:
        return known
    if len(_known) >= MOST_SERIES:
        return SECONDS.labels(OTHER, OTHER, str(status))
    series = _known[route, method, status] = SECONDS.labels(route, method, str(status))
    return series
