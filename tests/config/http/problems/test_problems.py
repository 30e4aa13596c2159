"""Every error of /api is a problem document, and every domain error has its row in the table."""

import inspect
import json
from uuid import UUID

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404
from django.test import Client
from rest_framework import exceptions as drf

from accounts import errors as accounts
from config.http.problems import ERRORS_NAMED, TABLE
from containers import errors as containers
from projects import errors as projects
from projects.credentials import encryption
from tests.config.http.problems.raising import answer_to

pytestmark = pytest.mark.urls("tests.config.probe_urls")


SENTENCE = "A sentence that says what to do."
MEMBERS = {"type", "title", "status", "detail", "code", "request_id"}
ROWS: list[tuple[Exception, int, str, dict[str, str]]] = [
    (accounts.InvalidCredentialsError(), 401, "invalid_credentials", {"WWW-Authenticate": "Bearer"}),
    (accounts.SecondFactorRequiredError(), 401, "second_factor_required", {"WWW-Authenticate": "Bearer"}),
    (accounts.WrongCodeError(), 401, "second_factor_required", {"WWW-Authenticate": "Bearer"}),
    (accounts.SecondFactorExistsError(), 409, "second_factor_exists", {}),
    (accounts.SecondFactorUnreadableError(UUID(int=0)), 409, "second_factor_unreadable", {}),
    (encryption.SecretUnreadableError("The api_key of a project cannot be decrypted."), 409, "secret_unreadable", {}),
    (accounts.InvalidTokenError(), 401, "invalid_token", {"WWW-Authenticate": "Bearer"}),
    (accounts.TooManyAttemptsError(retry_after=90), 429, "throttled", {"Retry-After": "90"}),
    (accounts.LinkNotValidError(), 409, "link_not_valid", {}),
    (accounts.InactiveUserError(), 409, "user_inactive", {}),
    (accounts.KeyExistsError(), 409, "key_exists", {}),
    (accounts.KeyLimitReachedError(25), 403, "key_limit_reached", {}),
    (accounts.UnknownKeyError(), 404, "not_found", {}),
    (accounts.UnknownSessionError(), 404, "not_found", {}),
    (accounts.EmailLinkNotValidError(), 409, "link_not_valid", {}),
    (accounts.EmailTakenError(), 409, "email_taken", {}),
    (accounts.TooManyLinksError(retry_after=90), 429, "throttled", {"Retry-After": "90"}),
    (projects.AccountKeptError(SENTENCE), 409, "account_kept", {}),
    (projects.TooManyExportsError(retry_after=90), 429, "throttled", {"Retry-After": "90"}),
    (accounts.CodedBodyError(), 415, "unsupported_media_type", {}),
    (accounts.OutboxFullError(), 429, "throttled", {"Retry-After": "60"}),
    (projects.InvalidFieldError(SENTENCE, field="apiKey", code="rejected"), 400, "invalid", {}),
    (projects.PlanLimitReachedError(SENTENCE), 403, "plan_limit_reached", {}),
    (projects.ImagePinnedError(SENTENCE), 409, "image_pinned", {}),
    (projects.BotInUseError(SENTENCE), 409, "bot_in_use", {}),
    (projects.PairingUnknownError(SENTENCE), 409, "pairing_unknown", {}),
    (projects.DiskFullError(SENTENCE), 409, "disk_full", {}),
    (projects.ProjectSuspendedError(SENTENCE), 409, "project_suspended", {}),
    (projects.OperationInProgressError(SENTENCE, retry_after=3), 409, "operation_in_progress", {"Retry-After": "3"}),
    (projects.OperationLostError(SENTENCE), 409, "superseded", {}),
    (projects.ProjectGoneError(), 404, "not_found", {}),
    (projects.UnusableSettingsError(SENTENCE), 409, "settings_unusable", {}),
    (projects.NoCapacityError(SENTENCE), 503, "no_capacity", {"Retry-After": "60"}),
    (projects.CannotAdoptError(SENTENCE), 409, "cannot_adopt", {}),
    (projects.UnknownRunError(SENTENCE), 404, "not_found", {}),
    (projects.GatewayOffError(), 409, "gateway_off", {}),
    (projects.TooManyStreamsError(SENTENCE), 429, "throttled", {"Retry-After": "5"}),
    (accounts.MaintenanceError(SENTENCE), 503, "maintenance", {"Retry-After": "300"}),
    (projects.NoPlaceError(), 429, "throttled", {"Retry-After": "5"}),
    (projects.CreatedAndGoneError(), 404, "not_found", {}),
    (projects.IdempotencyMismatchError(SENTENCE), 422, "idempotency_mismatch", {}),
    (containers.EngineUnavailableError(SENTENCE), 503, "engine_unavailable", {"Retry-After": "10"}),
    (containers.ContainerSilentError(SENTENCE), 503, "engine_unavailable", {"Retry-After": "10"}),
    (containers.FirewallMissingError(SENTENCE), 503, "engine_unavailable", {"Retry-After": "30"}),
    (containers.GatewayMissingError(SENTENCE), 503, "engine_unavailable", {"Retry-After": "30"}),
    (containers.GatewayDiskError(SENTENCE), 503, "engine_unavailable", {"Retry-After": "10"}),
    (containers.NoRoomError(SENTENCE), 503, "no_capacity", {"Retry-After": "60"}),
    (containers.ImageUnusableError(SENTENCE), 502, "engine_error", {}),
    (containers.StillStoppingError(SENTENCE), 503, "still_stopping", {"Retry-After": "10"}),
    (containers.EngineRefusedError(SENTENCE), 502, "engine_error", {}),
    (containers.AddressUnusableError(SENTENCE), 502, "engine_error", {}),
    (containers.GatewaySilentError(SENTENCE), 502, "engine_error", {}),
    (containers.ImageMissingError(SENTENCE), 502, "engine_error", {}),
    (containers.ImageNotPulledError(SENTENCE), 502, "engine_error", {}),
    (containers.AlteredError(SENTENCE), 502, "engine_error", {}),
    (containers.AddressUnusableError(SENTENCE), 502, "engine_error", {}),
    (containers.NameTakenError(SENTENCE), 502, "engine_error", {}),
    (containers.SupersededError(SENTENCE), 409, "superseded", {}),
    (containers.EngineError(SENTENCE), 502, "engine_error", {}),
    (drf.ValidationError({"name": [SENTENCE]}), 400, "invalid", {}),
    (drf.ParseError(), 400, "invalid", {}),
    (drf.NotAuthenticated(), 401, "not_authenticated", {"WWW-Authenticate": "Bearer"}),
    (drf.AuthenticationFailed(SENTENCE), 401, "invalid_token", {"WWW-Authenticate": "Bearer"}),
    (drf.AuthenticationFailed(SENTENCE, "token_not_valid"), 401, "invalid_token", {}),
    (drf.AuthenticationFailed(SENTENCE, "invalid_credentials"), 401, "invalid_credentials", {}),
    (drf.PermissionDenied(), 403, "permission_denied", {}),
    (PermissionDenied("internals"), 403, "permission_denied", {}),
    (projects.UnknownRunError(SENTENCE), 404, "not_found", {}),
    (drf.NotFound(), 404, "not_found", {}),
    (Http404("internals"), 404, "not_found", {}),
    (drf.MethodNotAllowed("TRACE"), 405, "method_not_allowed", {"Allow": "GET, POST, HEAD, OPTIONS"}),
    (drf.NotAcceptable(), 406, "not_acceptable", {}),
    (drf.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type", {}),
    (drf.Throttled(wait=4.2), 429, "throttled", {"Retry-After": "5"}),
    (SuspiciousOperation("internals"), 400, "invalid", {}),
    (ZeroDivisionError("internals"), 500, "internal_error", {}),
]


@pytest.mark.parametrize(("error", "status", "code", "headers"), ROWS, ids=[type(error).__name__ for error, *_ in ROWS])
def test_an_error_is_answered_as_its_row_says(
    client: Client, error: Exception, status: int, code: str, headers: dict[str, str]
) -> None:
    response = answer_to(client, error)
    document = response.json()
    assert (response.status_code, document["status"], document["code"]) == (status, status, code)
    assert response["Content-Type"] == "application/problem+json"
    assert set(document) == MEMBERS | ({"errors"} if status == 400 else set())
    assert document["request_id"] == response["X-Request-ID"]
    assert document["detail"].endswith(".")
    assert "internals" not in response.content.decode()
    assert {name: response[name] for name in headers} == headers


def test_a_domain_error_is_answered_with_its_own_sentence(client: Client) -> None:
    assert answer_to(client, projects.BotInUseError(SENTENCE)).json()["detail"] == SENTENCE


def test_every_domain_error_has_a_separate_row() -> None:
    kinds = {
        kind
        for module in (accounts, projects, containers)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == module.__name__
    }
    bases = {accounts.AccountError, projects.ProjectError}
    assert kinds - bases - set(TABLE) == set()


def test_every_row_of_the_table_is_tested() -> None:
    assert set(TABLE) - {type(error) for error, *_ in ROWS} == set()


def test_a_field_error_names_the_field(client: Client) -> None:
    response = answer_to(client, projects.InvalidFieldError(SENTENCE, field="apiKey", code="rejected"))
    assert response.json()["errors"] == [{"field": "apiKey", "code": "rejected", "detail": SENTENCE}]


def test_validation_errors_are_flat_and_name_nested_fields_by_their_path(client: Client) -> None:
    body = {"name": "", "settings": {"allowed_users": [1, "x"]}}
    response = client.post("/api/probe", json.dumps(body), content_type="application/json")
    assert response.status_code == 400
    assert response.json()["errors"] == [
        {"field": "name", "code": "blank", "detail": "This field may not be blank."},
        {"field": "settings.model", "code": "required", "detail": "This field is required."},
        {"field": "settings.allowed_users.1", "code": "invalid", "detail": "A valid integer is required."},
    ]


def test_an_error_of_the_whole_body_names_no_field(client: Client) -> None:
    body = {"name": "impossible", "settings": {"model": "m", "allowed_users": []}}
    response = client.post("/api/probe", json.dumps(body), content_type="application/json")
    assert response.json()["errors"] == [{"field": None, "code": "conflict", "detail": "These do not go together."}]


def test_broken_json_is_a_400(client: Client) -> None:
    response = client.post("/api/probe", "{", content_type="application/json")
    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "parse_error")


def test_another_content_type_is_a_415(client: Client) -> None:
    assert client.post("/api/probe", "name=x", content_type="text/plain").json()["code"] == "unsupported_media_type"


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_an_undeclared_method_is_a_405_that_lists_the_allowed_ones(client: Client, method: str) -> None:
    response = getattr(client, method)("/api/probe")
    assert (response.status_code, response["Allow"]) == (405, "GET, POST, HEAD, OPTIONS")


def test_a_missing_token_is_a_401_that_asks_for_one(client: Client) -> None:
    response = client.get("/api/guarded")
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_the_number_of_named_errors_is_limited(client: Client) -> None:
    error = drf.ValidationError({"ids": {str(number): ["Must be the id of a project."] for number in range(10_000)}})
    errors = answer_to(client, error).json()["errors"]
    assert [each["field"] for each in errors] == [f"ids.{number}" for number in range(ERRORS_NAMED)]
