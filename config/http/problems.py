"""The one table from errors to the API's answers, which are problem documents (RFC 9457).

Domain errors know no HTTP, and no view translates them: every error that leaves a view is looked up here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from math import ceil
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseBase, JsonResponse
from rest_framework import exceptions as drf

from accounts import errors as accounts
from config.http.middleware import current_request_id
from config.outages import Outage, find_outage, log_outage
from containers import errors as containers
from projects import errors as projects
from projects.credentials import encryption

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Row:
    """The answer to one class of error. `detail` replaces the error's own sentence; `retry_after` is in seconds."""

    status: int
    code: str
    detail: str = ""
    retry_after: int | None = None


TABLE: Mapping[type[Exception], Row] = {
    # people
    accounts.InvalidCredentialsError: Row(401, "invalid_credentials"),
    accounts.SecondFactorRequiredError: Row(401, "second_factor_required"),
    accounts.WrongCodeError: Row(401, "second_factor_required"),
    accounts.SecondFactorExistsError: Row(409, "second_factor_exists"),
    accounts.SecondFactorUnreadableError: Row(409, "second_factor_unreadable"),
    accounts.InvalidTokenError: Row(401, "invalid_token"),
    accounts.TooManyAttemptsError: Row(429, "throttled"),
    accounts.LinkNotValidError: Row(409, "link_not_valid"),
    accounts.EmailLinkNotValidError: Row(409, "link_not_valid"),
    accounts.EmailTakenError: Row(409, "email_taken"),
    accounts.TooManyLinksError: Row(429, "throttled"),
    accounts.UnknownSessionError: Row(404, "not_found"),
    accounts.InactiveUserError: Row(409, "user_inactive"),
    accounts.KeyExistsError: Row(409, "key_exists"),
    accounts.KeyLimitReachedError: Row(403, "key_limit_reached"),
    accounts.UnknownKeyError: Row(404, "not_found"),
    accounts.MaintenanceError: Row(503, "maintenance"),
    accounts.OutboxFullError: Row(429, "throttled"),
    accounts.CodedBodyError: Row(415, "unsupported_media_type"),
    # projects
    projects.InvalidFieldError: Row(400, "invalid"),
    projects.PlanLimitReachedError: Row(403, "plan_limit_reached"),
    projects.NoCapacityError: Row(503, "no_capacity", retry_after=60),
    projects.DiskFullError: Row(409, "disk_full"),
    projects.AccountKeptError: Row(409, "account_kept"),
    projects.TooManyExportsError: Row(429, "throttled"),
    projects.ImagePinnedError: Row(409, "image_pinned"),
    projects.BotInUseError: Row(409, "bot_in_use"),
    projects.PairingUnknownError: Row(409, "pairing_unknown"),
    projects.ProjectSuspendedError: Row(409, "project_suspended"),
    projects.OperationInProgressError: Row(409, "operation_in_progress"),
    projects.OperationLostError: Row(409, "superseded"),
    projects.CreatedAndGoneError: Row(404, "not_found"),
    projects.ProjectGoneError: Row(404, "not_found", "There is nothing here. Check the path and the id."),
    projects.CannotAdoptError: Row(409, "cannot_adopt"),
    projects.UnknownRunError: Row(404, "not_found"),
    projects.UnusableSettingsError: Row(409, "settings_unusable"),
    projects.GatewayOffError: Row(409, "gateway_off"),
    projects.TooManyStreamsError: Row(429, "throttled"),
    projects.NoPlaceError: Row(429, "throttled"),
    projects.IdempotencyMismatchError: Row(422, "idempotency_mismatch"),
    encryption.SecretUnreadableError: Row(
        409, "secret_unreadable", "The stored credentials cannot be read. Set them again with PATCH, then start."
    ),
    # engines
    containers.EngineUnavailableError: Row(503, "engine_unavailable", retry_after=10),
    containers.ContainerSilentError: Row(503, "engine_unavailable", retry_after=10),
    containers.FirewallMissingError: Row(503, "engine_unavailable", retry_after=30),
    containers.GatewayDiskError: Row(503, "engine_unavailable", retry_after=10),
    containers.GatewayMissingError: Row(503, "engine_unavailable", retry_after=30),
    containers.StillStoppingError: Row(503, "still_stopping", retry_after=10),
    containers.EngineRefusedError: Row(502, "engine_error"),
    containers.AddressUnusableError: Row(502, "engine_error"),
    containers.GatewaySilentError: Row(502, "engine_error"),
    containers.ImageMissingError: Row(502, "engine_error"),
    containers.ImageNotPulledError: Row(502, "engine_error"),
    containers.ImageUnusableError: Row(502, "engine_error"),
    containers.AlteredError: Row(502, "engine_error"),
    containers.NoRoomError: Row(503, "no_capacity", retry_after=60),
    containers.NameTakenError: Row(502, "engine_error"),
    containers.SupersededError: Row(409, "superseded"),
    containers.EngineError: Row(502, "engine_error"),
    # the frameworks
    drf.ValidationError: Row(400, "invalid", "The request holds something invalid. Correct what `errors` names."),
    drf.ParseError: Row(400, "invalid", "The body cannot be read. Send well-formed JSON."),
    drf.NotAuthenticated: Row(401, "not_authenticated", "Send a token: `Authorization: Bearer <token>`."),
    drf.AuthenticationFailed: Row(401, "invalid_token"),
    drf.PermissionDenied: Row(403, "permission_denied"),
    PermissionDenied: Row(403, "permission_denied", "You may not do this. Use a token with the scope it needs."),
    drf.NotFound: Row(404, "not_found", "There is nothing here. Check the path and the id."),
    Http404: Row(404, "not_found", "There is nothing here. Check the path and the id."),
    drf.MethodNotAllowed: Row(405, "method_not_allowed", "Send another method: `Allow` names those that there are."),
    drf.NotAcceptable: Row(406, "not_acceptable", "Answers are JSON only. Accept application/json."),
    drf.UnsupportedMediaType: Row(415, "unsupported_media_type", "Send the body as Content-Type: application/json."),
    drf.Throttled: Row(429, "throttled", "Too many requests. Wait as long as `Retry-After` says, then go on."),
}
"""Returns the row of the nearest class in the error's class hierarchy."""

# The codes that an authenticator may give. Clients never see the codes of the libraries.
_AUTHENTICATION_CODES = frozenset({"not_authenticated", "invalid_token", "invalid_credentials"})

ERRORS_NAMED = 50
"""Errors that an answer names. A body of 64 KiB can hold thousands."""


def problem(
    status: int, code: str, detail: str, *, errors: list[dict[str, Any]] | None = None, **headers: str
) -> JsonResponse:
    """Returns a problem document. Headers are keywords with underscores: `Retry_After="5"`."""
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": current_request_id(),
    }
    if status == HTTPStatus.BAD_REQUEST:
        document["errors"] = errors or []
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JsonResponse(document, status=status, content_type=CONTENT_TYPE, headers=named)


def problem_response(error: Exception, _context: Mapping[str, Any]) -> HttpResponseBase | None:
    """The REST framework's exception handler. Returns None for an error without a row, which then becomes a 500."""
    row = next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), None)
    if (row is None or row.status >= 500) and (outage := find_outage(error)):
        return outage_problem(outage, error)
    if row is None:
        return None
    done = getattr(error, "__notes__", ())  # what was done nevertheless
    detail = " ".join([*done, row.detail or str(getattr(error, "detail", None) or error)])
    return problem(row.status, _code(error, row), detail, errors=_field_errors(error), **_headers(error, row))


def outage_problem(outage: Outage, error: BaseException | None) -> JsonResponse:
    log_outage(outage, error)
    return problem(503, outage.code, outage.sentence, Retry_After=str(outage.retry_after))


def _code(error: Exception, row: Row) -> str:
    """Returns the row's code. Errors of authentication and permission may carry a more precise one."""
    code = getattr(getattr(error, "detail", None), "code", None)
    if isinstance(error, drf.AuthenticationFailed):
        return str(code) if code in _AUTHENTICATION_CODES else row.code
    if isinstance(error, drf.PermissionDenied):
        return str(code or row.code)
    return row.code


def _headers(error: Exception, row: Row) -> dict[str, str]:
    headers = {}
    if row.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW_Authenticate"] = str(getattr(error, "auth_header", "") or "Bearer")
    wait = getattr(error, "retry_after", None) or getattr(error, "wait", None) or row.retry_after
    if wait is not None:
        headers["Retry_After"] = str(max(1, ceil(wait)))
    return headers


def _field_errors(error: Exception) -> list[dict[str, Any]]:
    if isinstance(error, projects.InvalidFieldError):
        return [{"field": error.field, "code": error.code, "detail": str(error)}]
    if isinstance(error, drf.ValidationError):
        return list(islice(_flatten(error.detail, ""), ERRORS_NAMED))
    if isinstance(error, drf.ParseError):
        return [{"field": None, "code": "parse_error", "detail": str(error.detail)}]
    return []


def _flatten(detail: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yields each message with the path of its field, such as `settings.allowed_users.0`."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flatten(inner, path if name == "non_field_errors" else f"{path}.{name}".lstrip("."))
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for position, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _flatten(inner, f"{path}.{position}".lstrip(".") if nested else path)
    else:
        yield {"field": path or None, "code": getattr(detail, "code", None) or "invalid", "detail": str(detail)}
