"""Answers for requests that no view answers: a problem document under /api, and a page everywhere else."""

import sys

from django.core.exceptions import DisallowedHost, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from config.http.middleware import current_request_id, is_api_path
from config.http.problems import TABLE, outage_problem, problem
from config.outages import Outage, find_outage, log_outage

WRONG_ADDRESS = (
    "Berth does not answer at this address. Open the one that its operator gave you; as its operator, set "
    "BERTH_PUBLIC_URL to the address by which people come, and start Berth again."
)

EXPIRED = (
    "The form has expired. Nothing was done: go back, copy what you have typed, load the page again and send it "
    "once more."
)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        return _wrong_address(request)
    if is_api_path(request.path_info):
        return problem(400, "invalid", "The request cannot be read. Correct its address and headers.")
    return defaults.bad_request(request, exception)


def _wrong_address(request: HttpRequest) -> HttpResponse:
    """Does not name the right hosts: someone who scans addresses must not learn them."""
    if is_api_path(request.path_info):
        return problem(400, "invalid", WRONG_ADDRESS)
    return HttpResponse(render_to_string("400.html", {"sentence": WRONG_ADDRESS}), status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_path(request.path_info):
        return problem(403, "permission_denied", TABLE[PermissionDenied].detail)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_path(request.path_info):
        return problem(404, "not_found", TABLE[Http404].detail)
    return defaults.page_not_found(request, exception)


def internal_error(request: HttpRequest) -> HttpResponse:
    """Answers with the request's id and nothing else. Django has logged the error under that id.

    Outages reach this handler from pages and middleware, also while an error page is being rendered.
    """
    if outage := find_outage(sys.exception()):
        return _unavailable(request, outage, sys.exception())
    if is_api_path(request.path_info):
        return problem(500, "internal_error", "Something broke on our side. Try again, or report the `request_id`.")
    page = render_to_string("500.html", {"request_id": current_request_id()})
    return HttpResponse(page, status=500)


def _unavailable(request: HttpRequest, outage: Outage, error: BaseException | None) -> HttpResponse:
    if is_api_path(request.path_info):
        response: HttpResponse = outage_problem(outage, error)
    else:
        log_outage(outage, error)
        page = render_to_string("503.html", {"sentence": outage.sentence, "request_id": current_request_id()})
        response = HttpResponse(page, status=503, headers={"Retry-After": str(outage.retry_after)})
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001 - the traceback says nothing more
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - passed by name
    """Answers a form without its CSRF token. Only pages get here: /api accepts no cookies."""
    return defaults.permission_denied(request, PermissionDenied(EXPIRED))
