"""The page that describes the API gets a token for ten minutes, which ends with its user's sessions."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.dateparse import parse_datetime

from accounts.errors import UnknownKeyError
from accounts.models import ApiKey, User
from accounts.services.api_keys import rotate_api_key
from accounts.services.page_tokens import LIFETIME
from accounts.services.sign_in import sign_out_everywhere
from tests.factories import ApiKeyFactory

MINT = "/settings/token-for-docs"


def mint(client: Client) -> str:
    return str(client.post(MINT).json()["token"])


def status_with(token: str, method: str = "get", path: str = "/api/me") -> int:
    return int(getattr(Client(), method)(path, headers={"authorization": f"Bearer {token}"}).status_code)


def test_the_token_works_for_ten_minutes(alices: Client) -> None:
    made = alices.post(MINT).json()
    row = ApiKey.objects.get()
    assert status_with(made["token"]) == 200
    assert abs(row.expires_at - parse_datetime(made["expires_at"])) < timedelta(milliseconds=1)  # type: ignore[operator]  # neither is None
    assert row.expires_at is not None
    assert row.expires_at - row.created_at == LIFETIME == timedelta(minutes=10)
    ApiKey.objects.update(created_at=row.created_at - LIFETIME, expires_at=row.expires_at - LIFETIME)
    assert status_with(made["token"]) == 401


def test_the_token_is_listed_and_can_be_revoked(alices: Client, alice: User) -> None:
    token = mint(alices)
    row = ApiKey.objects.get()
    page = alices.get("/settings").content.decode()
    assert row.name in page
    assert row.hint in page
    assert token not in page
    alices.post(f"/settings/keys/{row.pk}/revoke")
    assert status_with(token) == 401


def test_there_is_one_token_at_a_time_and_it_replaces_no_key(alices: Client, alice: User) -> None:
    ApiKeyFactory.create(user=alice)
    first, second = mint(alices), mint(alices)
    assert (status_with(first), status_with(second)) == (401, 200)
    assert ApiKey.objects.count() == 2
    assert ApiKey.objects.lasting().count() == 1


@pytest.mark.parametrize("end", ["sign out", "sign out everywhere", "lose a right", "end all by hand"])
def test_the_token_ends_with_the_sessions_of_its_user(alices: Client, alice: User, end: str) -> None:
    token = mint(alices)
    if end == "sign out":
        alices.post("/sign-out")
    elif end == "sign out everywhere":
        sign_out_everywhere(user=alice)
    elif end == "lose a right":
        User.objects.filter(pk=alice.pk).update(is_staff=True)
    else:
        alice.end_sessions()
        alice.save(update_fields=["session_version"])
    assert status_with(token) == 401


def test_keys_remain_when_the_token_ends(alices: Client, alice: User) -> None:
    ApiKeyFactory.create(user=alice)
    mint(alices)
    alices.post("/sign-out")
    assert ApiKey.objects.count() == 1


def test_the_token_creates_nothing_lasting(alices: Client, alice: User) -> None:
    token = mint(alices)
    row = ApiKey.objects.get()
    assert status_with(token, "post", "/api/auth/keys") == 403
    with pytest.raises(UnknownKeyError):
        rotate_api_key(user=alice, session=None, key_id=row.pk)


def test_visitors_get_no_token_and_a_get_creates_none(client: Client, alices: Client, db: None) -> None:
    stranger = Client()
    assert stranger.post(MINT).status_code == 302
    assert "Sign in to try it" in stranger.get(MINT).content.decode()
    assert "alice@example.com" in alices.get(MINT).content.decode()
    assert not ApiKey.objects.exists()
    assert status_with("berth_nonsense") == 401


def test_the_api_accepts_no_cookie_for_a_token(alices: Client) -> None:
    assert alices.get("/api/me").status_code == 401
