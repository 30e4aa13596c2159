"""If a session ends while one of its requests is being answered,
no request brings it back or creates another way in."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from rest_framework.test import APIClient

from accounts.admin.users import UserAdmin
from accounts.credentials import api_keys as credentials
from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, RecoveryCode, SecondFactor, User
from accounts.services.second_factor import check_second_factor
from accounts.services.set_password_links import make_set_password_link
from accounts.services.sign_in import set_password, sign_out_everywhere
from accounts.throttling.rate_limits import count_request
from tests.accounts.dashboard.signing_in import is_in
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.factories import ApiKeyFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

NEW = "a passphrase, entirely new"
COOKIE = "__Host-berth-session"


def change_password(client: Client, _phone: Phone, _user: User) -> Any:
    return client.post("/settings/password", {"current": CANARY_PASSWORD, "new": NEW, "again": NEW})


def turn_on_second_factor(client: Client, phone: Phone, _user: User) -> Any:
    return client.post("/settings/second-factor/confirm", {"code": phone.code()})


def open_own_link(client: Client, _phone: Phone, user: User) -> Any:
    return client.get(make_set_password_link(user=User.objects.get(pk=user.pk), by=user).partition("8000")[2])


def open_anothers_link(client: Client, _phone: Phone, user: User) -> Any:
    other = UserFactory.create(email="other@example.com", password=None)
    return client.get(make_set_password_link(user=other, by=user).partition("8000")[2])


def make_key(client: Client, _phone: Phone, _user: User) -> Any:
    return client.post("/settings/keys", {"id": "7f7c4ab9-4a0e-4a55-8d4c-000000000001", "name": "x", "scope": "write"})


def look(client: Client, _phone: Phone, _user: User) -> Any:
    return client.get("/settings")


REQUESTS: dict[str, Callable[[Client, Phone, User], Any]] = {
    act.__name__: act
    for act in (change_password, turn_on_second_factor, open_own_link, open_anothers_link, make_key, look)
}


def sign_out(user: User, cookie: str) -> None:
    """The owner signs out; someone else has the cookie, too."""
    client = Client()
    client.cookies[COOKIE] = cookie
    assert client.post("/sign-out").status_code == 302
    assert not Session.objects.exists()


ENDS: dict[str, Callable[[User, str], object]] = {
    "signed out": sign_out,
    "signed out everywhere": lambda user, _: sign_out_everywhere(user=User.objects.get(pk=user.pk)),
    "password set": lambda user, _: set_password(user=User.objects.get(pk=user.pk), password="set by the owner, 1234"),
    "password hash is the same": lambda user, _: set_password(
        user=User.objects.get(pk=user.pk), password=CANARY_PASSWORD
    ),
    "deactivated": lambda user, _: User.objects.filter(pk=user.pk).update(is_active=False),
    "made staff": lambda user, _: User.objects.filter(pk=user.pk).update(is_staff=True),
}


@pytest.fixture
def phone_of_the_thief(client: Client, alice: User, phone: Phone) -> Phone:
    """It knows the secret that is being set up in this browser."""
    client.force_login(alice)
    page = client.post("/settings/second-factor", {"password": CANARY_PASSWORD}, follow=True).content.decode()
    found = re.search(r'id="second-factor-key">([A-Z2-7 ]+)<', page)
    assert found is not None
    phone.scan(found[1])
    return phone


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("request_of", REQUESTS)
def test_no_request_brings_an_ended_session_back(
    client: Client,
    alice: User,
    phone_of_the_thief: Phone,
    monkeypatch: pytest.MonkeyPatch,
    request_of: str,
    end: str,
) -> None:
    """The session ends after the request was found to be Alice's, and before anything is done."""
    ended: list[Any] = []

    def count_and_end(meta: Any, *, user: User, scope: str) -> Any:
        if not ended:
            ended.append(user.pk)
            ENDS[end](alice, client.cookies[COOKIE].value)
        return count_request(meta, user=user, scope=scope)

    monkeypatch.setattr("accounts.dashboard.middleware.count_request", count_and_end)
    answer = REQUESTS[request_of](client, phone_of_the_thief, alice)
    assert answer.status_code < 500
    assert ended == [alice.pk]
    assert not is_in(client)
    assert not ApiKey.objects.exists()
    assert not SecondFactor.objects.exists()
    kept = CANARY_PASSWORD if end != "password set" else "set by the owner, 1234"
    assert User.objects.get(pk=alice.pk).check_password(kept)


def test_undisturbed_changes_keep_their_sessions(client: Client, alice: User, phone_of_the_thief: Phone) -> None:
    for act in REQUESTS.values():
        assert act(client, phone_of_the_thief, alice).status_code < 400
        assert is_in(client), act.__name__
    assert ApiKey.objects.exists()
    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("path", ["/settings/second-factor/codes", "/settings/second-factor/off"])
def test_no_ended_session_changes_the_second_factor(
    client: Client, alice: User, phone: Phone, monkeypatch: pytest.MonkeyPatch, path: str, end: str
) -> None:
    """The session ends after password and code were found to be right."""
    phone.enrol(alice)
    client.force_login(alice)
    before = {code.digest for code in RecoveryCode.objects.all()}

    def check_and_end(**given: Any) -> None:
        check_second_factor(**given)
        ENDS[end](alice, client.cookies[COOKIE].value)

    monkeypatch.setattr("accounts.dashboard.forms.second_factor.check_second_factor", check_and_end)
    answer = client.post(path, {"password": CANARY_PASSWORD, "code": phone.next_code()})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/settings")
    assert not is_in(client)
    assert SecondFactor.objects.exists()
    assert {code.digest for code in RecoveryCode.objects.all()} == before


def sign_out_of_the_api(_user: User, token: str) -> None:
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    assert api.post("/api/auth/logout").status_code == 204


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("rotated", [False, True])
def test_an_ended_api_session_creates_no_key(
    alice: User, monkeypatch: pytest.MonkeyPatch, end: str, rotated: bool
) -> None:
    old = ApiKeyFactory.create(user=alice)
    api = APIClient()
    token = issue_session(alice)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    ends = {**ENDS, "signed out": sign_out_of_the_api}

    def end_first() -> str:
        ends[end](alice, token)
        return credentials.make_key()

    monkeypatch.setattr("accounts.services.api_keys.make_key", end_first)
    path = f"/api/auth/keys/{old.pk}/rotate" if rotated else "/api/auth/keys"
    answer = api.post(path, None if rotated else {"name": "new", "scope": "write"})
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert [key.expires_at for key in ApiKey.objects.all()] == [old.expires_at]


@pytest.mark.parametrize("end", [end for end in ENDS if end != "made staff"])
def test_an_ended_staff_session_creates_no_link_for_another_user(
    client: Client, alice: User, sam: User, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    client.force_login(sam)
    cookie = client.cookies[COOKIE].value
    monkeypatch.setattr(UserAdmin, "log_change", lambda *_: ENDS[end](sam, cookie))
    answer = client.post(f"/admin/accounts/user/{alice.pk}/set-password-link/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/login/")
