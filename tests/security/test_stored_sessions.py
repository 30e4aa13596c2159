"""Sessions are stored under the digests of their keys, and every use of them still works."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts import clock
from accounts.credentials.dashboard_sessions import SessionStore, digest_session_key
from accounts.credentials.session_tokens import issue_session
from accounts.models import User
from projects.watcher.upkeep.retention import prune
from tests.accounts.rights import opens, set_password_path
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call, browser_of
from tests.security.database_copy import COOKIE
from tests.security.live_credentials import _cookie_of


def test_a_session_of_an_earlier_version_lets_nobody_in(alice: User) -> None:
    """Its row is stored under its key until the watcher deletes it."""
    client = browser_of(alice)
    key = _cookie_of(client)
    Session.objects.update(session_key=key)
    assert client.get("/settings").status_code == 302
    list(prune())
    assert not Session.objects.exists()


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
def test_sign_in_works_with_a_wrong_clock(alice: User, monkeypatch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    """The database's clock decides how long a session lasts, on all machines."""
    monkeypatch.setattr(clock, "now", lambda: timezone.now() + ahead)
    assert browser_of(alice).get("/settings").status_code == 200


def test_the_digest_of_a_digest_is_refused(alice: User) -> None:
    key = _cookie_of(browser_of(alice))
    client = Client()
    for value in (
        digest_session_key(key),
        digest_session_key(digest_session_key(key)),
        key.upper(),
        f"{key} ",
        key[:-1],
    ):
        client.cookies[COOKIE] = value
        assert client.get("/settings").status_code == 302


def test_a_session_survives_every_operation_of_its_backend(alice: User) -> None:
    client = browser_of(alice)
    first = _cookie_of(client)
    assert client.get("/settings").status_code == 200
    changed = {"current": CANARY_PASSWORD, "new": "a passphrase, entirely new", "again": "a passphrase, entirely new"}
    client.post("/settings/password", changed)  # gives it another key
    second = _cookie_of(client)
    assert first != second
    assert client.get("/settings").status_code == 200
    assert list(Session.objects.values_list("session_key", flat=True)) == [digest_session_key(second)]
    client.post("/sign-out")
    assert not Session.objects.exists()


def test_an_expired_session_lets_nobody_in(alice: User) -> None:
    client = browser_of(alice)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/settings").status_code == 302


def test_a_session_is_deleted_by_its_key_and_not_by_its_digest(alice: User) -> None:
    key = _cookie_of(browser_of(alice))
    SessionStore().delete(digest_session_key(key))
    SessionStore().delete()
    assert SessionStore(key).exists(key)
    assert not SessionStore().exists(digest_session_key(key))
    SessionStore().delete(key)
    assert not Session.objects.exists()


def test_an_asynchronous_view_would_store_no_key(db: None) -> None:
    store = SessionStore()
    store["name"] = "value"
    async_to_sync(store.acreate)()
    key = str(store.session_key)
    assert Session.objects.get().session_key == digest_session_key(key)
    assert async_to_sync(SessionStore(key).aload)() == {"name": "value"}
    assert async_to_sync(SessionStore().aexists)(key)
    assert async_to_sync(SessionStore(digest_session_key(key)).aload)() == {}
    async_to_sync(SessionStore(key).adelete)()
    assert not Session.objects.exists()


def test_a_new_secret_key_ends_sessions_and_links_but_no_api_token(alice: User, call: Call, settings: Any) -> None:
    browser, link, token = browser_of(alice), set_password_path(alice), issue_session(alice)
    assert browser.get("/settings").status_code == 200
    settings.SECRET_KEY = "another key, just as long as the one of before, or longer"
    assert browser.get("/settings").status_code == 302
    assert not opens(link)
    assert call("GET", "/api/auth/session", by=token).json()["authenticated"]
