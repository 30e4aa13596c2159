"""POST /api/auth/login."""

import pytest
from django.test import override_settings

from accounts.models import LoginCounter, User
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call
from tests.factories import UserFactory

LOGIN = "/api/auth/login"


def test_login_exchanges_credentials_for_a_token_and_the_user(call: Call, alice: User) -> None:
    answer = call("POST", LOGIN, {"email": "alice@example.com", "password": CANARY_PASSWORD})

    assert answer.status_code == 200
    assert answer.json().keys() == {"token", "user"}
    assert answer.json()["user"] == {"id": str(alice.pk), "email": "alice@example.com"}
    session = call("GET", "/api/auth/session", by=answer.json()["token"])
    assert session.json() == {"authenticated": True, "user": {"id": str(alice.pk), "role": "user"}}


@pytest.mark.parametrize("email", ["ALICE@Example.COM", "  alice@example.com ", "\uff41lice@example.com"])
def test_the_email_is_accepted_in_any_spelling(call: Call, alice: User, email: str) -> None:
    assert call("POST", LOGIN, {"email": email, "password": CANARY_PASSWORD}).status_code == 200


@pytest.mark.parametrize("password", [f" {CANARY_PASSWORD}", f"{CANARY_PASSWORD} ", CANARY_PASSWORD.upper()])
def test_the_password_is_used_literally(call: Call, alice: User, password: str) -> None:
    assert call("POST", LOGIN, {"email": "alice@example.com", "password": password}).status_code == 401


def test_spaces_around_a_password_belong_to_it(call: Call, db: None) -> None:
    UserFactory.create(email="carol@example.com", password="  spaces at both ends  ")

    def status(password: str) -> int:
        return int(call("POST", LOGIN, {"email": "carol@example.com", "password": password}).status_code)

    assert (status("  spaces at both ends  "), status("spaces at both ends")) == (200, 401)


def test_unknown_wrong_and_inactive_are_answered_alike(call: Call, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)
    answers = [
        call("POST", LOGIN, {"email": email, "password": password}, **{"X-Request-ID": "same"})
        for email, password in [
            ("nobody@example.com", CANARY_PASSWORD),
            ("alice@example.com", "not-her-password"),
            ("bob@example.com", CANARY_PASSWORD),
            ("not an email", CANARY_PASSWORD),
        ]
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["code"] == "invalid_credentials"
    assert answers[0]["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("email", ["alice@example.com", "nobody@example.com"])
def test_known_and_unknown_emails_cost_one_hash_each(
    call: Call, alice: User, monkeypatch: pytest.MonkeyPatch, email: str
) -> None:
    hashed: list[int] = []
    with override_settings(PASSWORD_HASHERS=["tests.accounts.credentials.hashing.CountingHasher"]):
        alice.set_password(CANARY_PASSWORD)
        alice.save()
        monkeypatch.setattr("tests.accounts.credentials.hashing.CountingHasher.hashed", hashed)
        call("POST", LOGIN, {"email": email, "password": "not-her-password"})

    assert len(hashed) == 1


def test_a_bad_token_does_not_keep_anyone_from_signing_in(call: Call, alice: User) -> None:
    answer = call("POST", LOGIN, {"email": "alice@example.com", "password": CANARY_PASSWORD}, by="expired-long-ago")

    assert answer.status_code == 200


def test_login_sets_no_cookie(call: Call, alice: User) -> None:
    answer = call("POST", LOGIN, {"email": "alice@example.com", "password": CANARY_PASSWORD})

    assert not answer.cookies


def test_ten_failures_close_the_account_for_this_address(call: Call, alice: User, bob: User) -> None:
    for _ in range(10):
        assert call("POST", LOGIN, {"email": "alice@example.com", "password": "wrong"}).status_code == 401

    closed = call("POST", LOGIN, {"email": "ALICE@example.com", "password": CANARY_PASSWORD})
    assert (closed.status_code, closed.json()["code"]) == (429, "throttled")
    assert 0 < int(closed["Retry-After"]) <= 900
    assert call("POST", LOGIN, {"email": "bob@example.com", "password": CANARY_PASSWORD}).status_code == 200


def test_an_unknown_account_is_closed_in_the_same_way(call: Call, db: None) -> None:
    statuses = [call("POST", LOGIN, {"email": "nobody@example.com", "password": "x"}).status_code for _ in range(11)]

    assert statuses == [401] * 10 + [429]


def test_failures_before_a_success_are_forgiven(call: Call, alice: User) -> None:
    for _ in range(9):
        call("POST", LOGIN, {"email": "alice@example.com", "password": "wrong"})

    assert call("POST", LOGIN, {"email": "alice@example.com", "password": CANARY_PASSWORD}).status_code == 200
    assert not LoginCounter.objects.exists()


def test_a_token_in_the_query_does_not_count(call: Call, alice: User) -> None:
    token = call("POST", LOGIN, {"email": "alice@example.com", "password": CANARY_PASSWORD}).json()["token"]

    for name in ("token", "access_token", "key", "Authorization"):
        assert call("GET", f"/api/auth/session?{name}={token}").json()["authenticated"] is False
        assert call("GET", f"/api/auth/keys?{name}={token}").status_code == 401


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_other_methods_are_refused(call: Call, db: None, method: str) -> None:
    assert call(method, LOGIN, {}).status_code == 405
