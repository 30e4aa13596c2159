"""Everything that ends a user's access takes effect on the next request, in one query."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.credentials.passwords import BoundedArgon2PasswordHasher
from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, User
from accounts.services.sign_in import set_password, sign_out_everywhere
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key


def _is_in(call: Call, token: str) -> bool:
    return bool(call("GET", "/api/auth/session", by=token).json()["authenticated"])


def test_a_new_password_ends_sessions_and_not_keys(call: Call, alice: User) -> None:
    token, key = issue_session(alice), plain_key(ApiKeyFactory.create(user=alice))
    set_password(user=alice, password="a passphrase, entirely new")

    assert (_is_in(call, token), _is_in(call, key)) == (False, True)
    assert _is_in(call, issue_session(alice))


def test_signing_out_everywhere_ends_sessions_and_not_keys(call: Call, alice: User, bob: User) -> None:
    tokens, key = [issue_session(alice) for _ in range(3)], plain_key(ApiKeyFactory.create(user=alice))
    bobs = issue_session(bob)
    sign_out_everywhere(user=alice)

    assert [_is_in(call, token) for token in [*tokens, key, bobs]] == [False, False, False, True, True]


def test_two_password_changes_in_one_second_count_separately(call: Call, alice: User) -> None:
    tokens = []
    for number in range(3):
        tokens.append(issue_session(alice))
        set_password(user=alice, password=f"a passphrase, number {number}")

    assert not any(_is_in(call, token) for token in tokens)


def test_an_inactive_user_is_out_with_sessions_and_keys(call: Call, alice: User) -> None:
    token, key = issue_session(alice), plain_key(ApiKeyFactory.create(user=alice))
    User.objects.filter(pk=alice.pk).update(is_active=False)

    assert (_is_in(call, token), _is_in(call, key)) == (False, False)


def test_a_deleted_user_is_out(call: Call, alice: User) -> None:
    token, key = issue_session(alice), plain_key(ApiKeyFactory.create(user=alice))
    alice.delete()

    assert (_is_in(call, token), _is_in(call, key)) == (False, False)


@pytest.mark.parametrize("state", ["expired", "revoked"])
def test_expired_and_revoked_keys_are_refused(call: Call, alice: User, state: str) -> None:
    key = plain_key(ApiKeyFactory.create(user=alice, **{state: True}))
    answer = call("GET", "/api/auth/keys", by=key)

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")


def test_a_rehash_at_sign_in_ends_no_session(call: Call, alice: User) -> None:
    token = issue_session(alice)
    User.objects.filter(pk=alice.pk).update(password=_argon2_hash())
    assert call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD}).status_code == 200

    assert User.objects.get(pk=alice.pk).password.startswith("md5$")
    assert _is_in(call, token)


def test_authentication_takes_one_query(
    client: Client, alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    used = ApiKeyFactory.create(user=alice, last_used_at=timezone.now())
    for token in (issue_session(alice), plain_key(used)):
        with django_assert_num_queries(1):
            client.get("/api/auth/session", headers={"Authorization": f"Bearer {token}"})


def test_the_last_use_is_noted_at_most_once_a_minute(client: Client, alice: User) -> None:
    row = ApiKeyFactory.create(user=alice)

    def use(address: str) -> ApiKey:
        client.get("/api/auth/session", headers={"Authorization": f"Bearer {plain_key(row)}"}, REMOTE_ADDR=address)
        return ApiKey.objects.get(pk=row.pk)

    first = use("192.0.2.1")
    again = use("192.0.2.2")
    assert (again.last_used_at, again.last_used_ip) == (first.last_used_at, "192.0.2.1")
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    assert use("192.0.2.3").last_used_ip == "192.0.2.3"


def _argon2_hash() -> str:
    hasher = BoundedArgon2PasswordHasher()
    return str(hasher.encode(CANARY_PASSWORD, hasher.salt()))
