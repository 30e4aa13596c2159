"""GET /api/auth/session: who is the caller? Always 200."""

import pytest
from django.test import Client

from accounts.models import Scope, User
from tests.clients import Call
from tests.factories import ApiKeyFactory, UserFactory, plain_key

SESSION = "/api/auth/session"
NOBODY = {"authenticated": False, "user": None}


@pytest.mark.parametrize(
    ("traits", "role"),
    [({}, "user"), ({"staff": True}, "staff"), ({"admin": True}, "admin")],
    ids=str,
)
def test_the_session_gives_user_and_role(call: Call, db: None, traits: dict[str, bool], role: str) -> None:
    user = UserFactory.create(**traits)

    assert call("GET", SESSION, by=user).json() == {
        "authenticated": True,
        "user": {"id": str(user.pk), "role": role},
    }


@pytest.mark.parametrize("scope", Scope)
def test_api_keys_count_whatever_their_scope(call: Call, alice: User, scope: Scope) -> None:
    key = ApiKeyFactory.create(user=alice, scope=scope)

    assert call("GET", SESSION, by=plain_key(key)).json()["user"]["id"] == str(alice.pk)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer not-a-token",
        "Bearer \xff\xfe",
        "Basic YTpi",
        "bearer berth_x",
        "Bearer " + "a" * 9000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_missing_and_bad_tokens_are_not_authenticated(client: Client, db: None, header: str | None) -> None:
    answer = client.get(SESSION, headers={} if header is None else {"Authorization": header})

    assert (answer.status_code, answer.json()) == (200, NOBODY)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_accepted_in_any_letter_case(client: Client, alice: User, scheme: str) -> None:
    key = ApiKeyFactory.create(user=alice)

    assert client.get(SESSION, headers={"Authorization": f"{scheme} {plain_key(key)}"}).json()["authenticated"] is True


def test_a_dashboard_cookie_does_not_authenticate(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get(SESSION).json() == NOBODY
    assert client.get("/api/auth/keys").status_code == 401


def test_a_role_that_changes_shows_at_once(call: Call, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice)
    User.objects.filter(pk=alice.pk).update(is_staff=True)

    assert call("GET", SESSION, by=plain_key(key)).json()["user"]["role"] == "staff"
