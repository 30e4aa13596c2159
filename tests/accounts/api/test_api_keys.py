"""/api/auth/keys: create, list, rotate, revoke."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.errors import KeyLimitReachedError
from accounts.models import ApiKey, Scope, User
from accounts.services.api_keys import LIMIT, issue_api_key
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key

KEYS = "/api/auth/keys"
PUBLIC_FIELDS = {"id", "name", "scope", "hint", "created_at", "expires_at", "last_used_at", "last_used_ip"}


def test_the_key_is_shown_only_in_the_answer_that_created_it(call: Call, alice: User) -> None:
    made = call("POST", KEYS, {"name": "  deploy script ", "scope": "write", "expires_in_days": 30}, by=alice)

    key = made.json()["key"]
    assert made.status_code == 201
    assert made.json().keys() == PUBLIC_FIELDS | {"key"}
    assert (made.json()["name"], made.json()["scope"]) == ("deploy script", "write")
    assert made.json()["hint"] == f"{key[:8]}…{key[-4:]}"
    listed = call("GET", KEYS, by=alice)
    assert listed.json() == [{name: made.json()[name] for name in listed.json()[0]}]
    assert listed.json()[0].keys() == PUBLIC_FIELDS
    assert key not in listed.content.decode()
    assert key not in str(ApiKey.objects.values())


@pytest.mark.parametrize(("asked", "days"), [({}, 90), ({"expires_in_days": 30}, 30), ({"expires_in_days": 365}, 365)])
def test_a_key_is_valid_as_long_as_requested_and_90_days_by_default(
    call: Call, alice: User, asked: dict[str, int], days: int
) -> None:
    made = call("POST", KEYS, {"name": "x", "scope": "read", **asked}, by=alice).json()

    created, expires = parse_datetime(made["created_at"]), parse_datetime(made["expires_at"])
    assert created is not None
    assert expires is not None
    assert expires - created == timedelta(days=days)
    assert made["created_at"].endswith("Z")


def test_null_means_no_expiry(call: Call, alice: User) -> None:
    made = call("POST", KEYS, {"name": "x", "scope": "read", "expires_in_days": None}, by=alice)

    assert made.json()["expires_at"] is None


@pytest.mark.parametrize("method_and_path", [("GET", ""), ("POST", ""), ("DELETE", "/{id}"), ("POST", "/{id}/rotate")])
def test_a_key_never_deals_with_keys(call: Call, alice: User, method_and_path: tuple[str, str]) -> None:
    method, path = method_and_path
    key = ApiKeyFactory.create(user=alice)
    answer = call(method, KEYS + path.format(id=key.pk), {"name": "x", "scope": "read"}, by=plain_key(key))

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert ApiKey.objects.unrevoked().count() == 1


def test_a_revoked_key_is_refused_at_once_and_gone_from_the_list(call: Call, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice)

    assert call("DELETE", f"{KEYS}/{key.pk}", by=alice).status_code == 204
    assert call("GET", "/api/auth/session", by=plain_key(key)).json()["authenticated"] is False
    assert call("GET", KEYS, by=alice).json() == []
    assert call("DELETE", f"{KEYS}/{key.pk}", by=alice).status_code == 404


def test_a_stranger_s_key_is_answered_like_an_unknown_one(call: Call, alice: User, bob: User) -> None:
    theirs = ApiKeyFactory.create(user=bob)
    for method, suffix in [("DELETE", ""), ("POST", "/rotate")]:
        answers = [
            call(method, f"{KEYS}/{key_id}{suffix}", by=alice, **{"X-Request-ID": "same"})
            for key_id in (theirs.pk, uuid.uuid4(), "not-an-id", "1", "%00")
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1
    theirs.refresh_from_db()
    assert theirs.is_live
    assert call("GET", KEYS, by=alice).json() == []


def test_rotating_gives_a_like_key_and_a_day_to_change_over(call: Call, alice: User) -> None:
    old = ApiKeyFactory.create(user=alice, name="robot", scope="read", lifetime_days=365)
    answer = call("POST", f"{KEYS}/{old.pk}/rotate", by=alice)

    new = answer.json()
    assert answer.status_code == 201
    assert (new["name"], new["scope"]) == ("robot", "read")
    assert new["id"] != str(old.pk)
    for key in (plain_key(old), new["key"]):
        assert call("GET", "/api/auth/session", by=key).json()["authenticated"] is True
    old.refresh_from_db()
    assert old.expires_at is not None
    assert old.expires_at <= timezone.now() + timedelta(hours=24)
    assert ApiKey.objects.get(pk=new["id"]).lifetime_days == 365


def test_rotating_never_lengthens_a_life(call: Call, alice: User) -> None:
    soon = timezone.now() + timedelta(hours=1)
    old = ApiKeyFactory.create(user=alice, expires_at=soon)
    call("POST", f"{KEYS}/{old.pk}/rotate", by=alice)
    call("POST", f"{KEYS}/{old.pk}/rotate", by=alice)

    old.refresh_from_db()
    assert old.expires_at == soon


def test_25_live_keys_are_the_most(call: Call, alice: User, bob: User) -> None:
    ApiKeyFactory.create_batch(LIMIT, user=alice)
    ApiKeyFactory.create(user=alice, expired=True)
    ApiKeyFactory.create(user=alice, revoked=True)
    body = {"name": "one more", "scope": "read"}

    refused = call("POST", KEYS, body, by=alice)
    assert (refused.status_code, refused.json()["code"]) == (403, "key_limit_reached")
    assert call("POST", KEYS, body, by=bob).status_code == 201
    call("DELETE", f"{KEYS}/{ApiKey.objects.live().filter(user=alice)[0].pk}", by=alice)
    assert call("POST", KEYS, body, by=alice).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_one_of_eight_simultaneous_requests_gets_the_last_key(alice: User) -> None:
    ApiKeyFactory.create_batch(LIMIT - 1, user=alice)
    together = threading.Barrier(8)

    def make(number: int) -> bool:
        together.wait()
        try:
            issue_api_key(user=alice, session=None, name=f"racer {number}", scope=Scope.READ, lifetime_days=30)
        except KeyLimitReachedError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(make, range(8))) == [False] * 7 + [True]
    assert ApiKey.objects.live().count() == LIMIT
