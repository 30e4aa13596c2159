"""GET /api/me: who the caller is, what the token may do, and the limits."""

import json

import pytest
from django.utils.dateparse import parse_datetime
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.api.me import MeSerializer
from accounts.models import Scope, SecondFactor, User
from accounts.services.api_keys import issue_api_key
from tests.clients import Call
from tests.settings import REAL_LIMITS


def test_a_session_is_described(api: APIClient, alice: User, settings: Settings) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS
    told = api.get("/api/me").json()
    assert (told["id"], told["email"], told["role"], told["second_factor"]) == (
        str(alice.pk), alice.email, "user", False,
    )  # fmt: skip
    assert told["created_at"].endswith("Z")
    assert parse_datetime(told["created_at"]) == alice.date_joined
    assert (told["token"]["kind"], told["token"]["scope"]) == ("session", "write")
    assert parse_datetime(told["token"]["expires_at"])
    assert told["limits"] == REAL_LIMITS


@pytest.mark.parametrize(("days", "scope"), [(30, Scope.READ), (None, Scope.WRITE)])
def test_a_key_is_described_and_never_shown(call: Call, alice: User, days: int | None, scope: Scope) -> None:
    row, key = issue_api_key(user=alice, session=None, name="deploy bot", scope=scope, lifetime_days=days)
    answer = call("GET", "/api/me", by=key)
    token = answer.json()["token"]
    assert (token["kind"], token["name"], token["scope"]) == ("key", "deploy bot", scope)
    assert parse_datetime(token["expires_at"]) == row.expires_at if days else token["expires_at"] is None
    assert key not in answer.content.decode()


def test_role_and_second_factor_are_shown(call: Call, sam: User, ada: User) -> None:
    SecondFactor.objects.create(user=sam, secret_ciphertext="x", last_step=0)
    assert (call("GET", "/api/me", by=sam).json()["role"], call("GET", "/api/me", by=ada).json()["role"]) == (
        "staff", "admin",
    )  # fmt: skip
    assert call("GET", "/api/me", by=sam).json()["second_factor"] is True


def test_nothing_new_is_a_304(api: APIClient, bobs_api: APIClient) -> None:
    etag = api.get("/api/me")["ETag"]
    assert api.get("/api/me", headers={"if-none-match": etag}).status_code == 304
    assert bobs_api.get("/api/me", headers={"if-none-match": etag}).status_code == 200


def test_the_answer_has_the_fields_of_its_description(api: APIClient, settings: Settings) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS
    told = json.loads(api.get("/api/me").content)
    assert list(told) == list(MeSerializer().fields)
    for nested in ("token", "limits"):
        assert list(told[nested]) == list(MeSerializer().fields[nested].fields)  # type: ignore[attr-defined]  # each is a serializer
