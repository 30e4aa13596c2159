"""Every error in a body is a 400 that names the field, and nothing is done."""

from typing import Any

import pytest
from django.test import Client

from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, LoginCounter, User
from tests.clients import Call

pytestmark = pytest.mark.one_database

LOGIN = "/api/auth/login"
KEYS = "/api/auth/keys"
GOOD: dict[str, dict[str, Any]] = {
    LOGIN: {"email": "alice@example.com", "password": "wrong"},
    KEYS: {"name": "x", "scope": "read", "expires_in_days": 30},
}
MISSING = object()

STRINGS = [
    (MISSING, "required"),
    (None, "null"),
    ("", "blank"),
    (1, "invalid"),
    (1.5, "invalid"),
    (True, "invalid"),
    ([], "invalid"),
    (["x"], "invalid"),
    ({}, "invalid"),
    ("nul\0", "control"),
    ("bell\x07bell", "control"),
    ("line\nbreak", "control"),
    ("del\x7fete", "control"),
    ("next\x85line", "control"),
    ("line\u2028separator", "control"),
    ("half \ud800 pair", "control"),
]
CHOICES = [
    (None, "null"),
    ("", "invalid_choice"),
    (1, "invalid_choice"),
    (True, "invalid_choice"),
    (["read"], "invalid_choice"),
]
NO_LIFETIMES: list[Any] = [0, 1, 31, -30, 30.0, "30", True, "", [], {}, 10**30]
ANYTHING: list[Any] = [None, 1, "x", [], {}]
NO_OBJECTS: list[str | bytes] = [
    *("null", "[]", "1", '"x"', "true", "{", "", "{]", "nope", '{"email": NaN}'),
    *(b"\xff\xfe", "[" * 30_000, "9" * 5000),
]
CASES = [
    *((LOGIN, "email", value, code) for value, code in STRINGS),
    (LOGIN, "email", "a" * 255, "max_length"),
    (LOGIN, "email", "   ", "blank"),
    *((LOGIN, "password", value, code) for value, code in STRINGS),
    (LOGIN, "password", "a" * 129, "max_length"),
    *((KEYS, "name", value, code) for value, code in STRINGS),
    (KEYS, "name", "a" * 65, "max_length"),
    (KEYS, "name", " \t ", "blank"),
    *((KEYS, "scope", value, code) for value, code in CHOICES),
    (KEYS, "scope", MISSING, "required"),
    (KEYS, "scope", "READ", "invalid_choice"),
    (KEYS, "scope", "admin", "invalid_choice"),
    (KEYS, "scope", "half \ud800 pair", "invalid_choice"),
    *((KEYS, "expires_in_days", value, "invalid_choice") for value in NO_LIFETIMES),
    *((LOGIN, "extra", value, "unknown") for value in ANYTHING),
    *((KEYS, "extra", value, "unknown") for value in ANYTHING),
    (KEYS, "id", "0d0d0d0d-0000-4000-8000-000000000000", "unknown"),
    (KEYS, "key", "berth_x", "unknown"),
    (KEYS, "digest", "x", "unknown"),
    (KEYS, "user", "x", "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "field", "value", "code"), CASES, ids=lambda value: repr(value)[:24])
def test_a_bad_field_is_named(call: Call, alice: User, path: str, field: str, value: Any, code: str) -> None:
    body = {**GOOD[path], field: value}
    if value is MISSING:
        del body[field]
    answer = call("POST", path, body, by=alice)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert [(error["field"], error["code"]) for error in answer.json()["errors"]] == [(field, code)]
    assert answer["Content-Type"] == "application/problem+json"
    assert not ApiKey.objects.exists()
    assert not LoginCounter.objects.exists()


@pytest.mark.parametrize("path", GOOD)
@pytest.mark.parametrize("body", NO_OBJECTS, ids=lambda body: repr(body)[:12])
def test_a_body_that_is_not_a_json_object_is_refused(call: Call, alice: User, path: str, body: str | bytes) -> None:
    answer = call("POST", path, body, by=alice)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("path", GOOD)
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_other_content_types_are_refused(client: Client, alice: User, path: str, content_type: str) -> None:
    headers = {"Authorization": f"Bearer {issue_session(alice)}"}
    answer = client.generic("POST", path, "name=x", content_type=content_type, headers=headers)

    assert answer.status_code == 415


def test_all_errors_are_reported_at_once_and_unknown_names_are_escaped(call: Call, alice: User) -> None:
    body = {"name": 1, "scope": "x", "\ud800": 1, "y" * 500: 1}
    answer = call("POST", KEYS, body, by=alice)

    errors = {error["field"]: error["code"] for error in answer.json()["errors"]}
    assert errors == {"name": "invalid", "scope": "invalid_choice", "?": "unknown", "y" * 64: "unknown"}


def test_a_thousand_unknown_fields_get_a_short_answer(call: Call, alice: User) -> None:
    answer = call("POST", KEYS, {**GOOD[KEYS], **{f"field{number}": 1 for number in range(1000)}}, by=alice)

    assert len(answer.json()["errors"]) == 20


def test_sent_values_are_never_quoted(call: Call, alice: User) -> None:
    answer = call("POST", KEYS, {"name": "x", "scope": "quoted?", "expires_in_days": "quoted?"}, by=alice)

    assert "quoted?" not in answer.content.decode()
