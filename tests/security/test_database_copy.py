"""A copy of the database lets nobody in. Generated: a new table or column is in."""

import re
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts.credentials.dashboard_sessions import SessionStore, digest_session_key
from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, RecoveryCode, User
from projects.watcher.retention import prune
from tests.accounts.phone import Phone
from tests.accounts.rights import opens, set_password_path
from tests.canaries import CANARY_PASSWORD
from tests.clients import api_of, browser_of, make_person
from tests.deploying import PROJECT
from tests.factories import plain_key
from tests.security.database_copy import COOKIE, DOORS, columns, stored, values
from tests.security.populated_service import PopulatedService


@dataclass
class Credentials:
    """What lets people in, by the door. Each is live, so each is one that a copy must not hold."""

    by_door: dict[str, list[str]] = field(default_factory=dict)

    def add(self, door: str, *credentials: str) -> None:
        self.by_door.setdefault(door, []).extend(credentials)

    @property
    def all(self) -> list[str]:
        return [credential for each in self.by_door.values() for credential in each]


@pytest.fixture
def live(service: PopulatedService, phone: Phone) -> Credentials:
    """One of everything that lets anybody in, with all rows that come of it."""
    live = Credentials()
    bob = make_person("bob")
    phone.enrol(bob)
    live.add("code", phone.secret, *phone.recovery_codes)
    live.add("password", CANARY_PASSWORD)
    live.add("token or key", issue_session(service.admin), issue_session(service.alice), plain_key(service.key))
    live.add("session cookie", *(_cookie_of(browser_of(user)) for user in (service.admin, service.staff)))
    typed, half_way, linked, setting_up = Client(), Client(), Client(), browser_of(service.alice)
    typed.post("/sign-in", {"email": service.alice.email, "password": CANARY_PASSWORD})
    half_way.post("/sign-in", {"email": bob.email, "password": CANARY_PASSWORD})
    setting_up.post("/settings/second-factor", {"password": CANARY_PASSWORD})
    fresh, opened = set_password_path(bob), set_password_path(bob)
    assert opens(opened, in_browser=linked)
    live.add("session cookie", _cookie_of(typed), _cookie_of(setting_up))
    live.add("cookie of a sign-in that waits for its code", _cookie_of(half_way))
    live.add("cookie of an opened link", _cookie_of(linked))
    live.add("set-password link", *(path.rpartition("/")[2] for path in (fresh, opened)))
    _leave_traces(service)
    return live


def _leave_traces(service: PopulatedService) -> None:
    """Rows of what came of requests: failures, a revoked session, an answer kept for a retry, counters, the cache."""
    api = api_of(service.alice)
    body = PROJECT | {"telegramToken": "555:a-free-bot"}
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "retry"}).status_code == 201
    assert api.post("/api/auth/logout").status_code == 204
    assert Client().post("/sign-in", {"email": "nobody@example.com", "password": "wrong"}).status_code == 200
    cache.set("greeting", "hello")


def _cookie_of(client: Client) -> str:
    return str(client.cookies[COOKIE].value)


def test_each_door_opens_to_its_credential(live: Credentials) -> None:
    """Otherwise the next test would knock at walls. Those that work once are last."""
    assert live.by_door.keys() == DOORS.keys()
    for door, credentials in live.by_door.items():
        shut = [credential for credential in credentials if not DOORS[door](credential)]
        # The period of the app's first code is used up.
        assert len(shut) == (1 if door == "code" else 0), door


def test_no_value_of_the_database_opens_a_door(live: Credentials) -> None:
    """Every value of every column, as it is, decoded, and in its parts, at every door."""
    tried = values()
    assert len(tried) > 300
    for name, door in DOORS.items():
        assert [value for value in tried if door(value)] == [], name


def test_no_credential_is_part_of_a_value(live: Credentials) -> None:
    haystack = "\n".join(values()).lower()
    assert [credential for credential in live.all if credential.lower() in haystack] == []
    assert len(live.all) > 15


def test_a_copy_that_held_one_would_be_noticed(live: Credentials) -> None:
    row = Session.objects.get(session_key=digest_session_key(live.by_door["session cookie"][0]))
    token, link = live.by_door["token or key"][0], live.by_door["set-password link"][0]
    other = SessionStore()
    other["held"] = {"link": [link]}
    other.create()
    ApiKey.objects.update(name=token[:64])
    Session.objects.filter(pk=row.pk).update(session_key="undigested")
    found = values()
    assert {link, token[:64], "undigested"} <= found
    assert DOORS["set-password link"](link)


# What each column that may hold a secret has instead of one. A new column is added here with what it holds.
HELD = {
    "accounts_apikey.digest": r"[0-9a-f]{64}",
    "accounts_recoverycode.digest": r"[0-9a-f]{64}",
    "accounts_revokedsession.jti": r"[0-9a-f]{32}",
    "accounts_secondfactor.sealed_secret": r"gAAAA[\w-]+={0,2}",
    "accounts_user.password": r"(md5|argon2)\$.+|!.+",
    "cache.cache_key": r":1:greeting",
    "django_session.session_data": r"[\w.:-]+",
    "django_session.session_key": r"[0-9a-f]{40}",
    "projects_canary.ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_idempotencyrecord.digest": r"[0-9a-f]{64}",
    "projects_idempotencyrecord.key": r"retry",
    "projects_project.api_key_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.api_key_hint": r".{4}",
    "projects_project.telegram_token_ciphertext": r"gAAAA[\w-]+={0,2}",
    "projects_project.telegram_token_hint": r".{4}",
}
SECRET = re.compile(
    r"digest|token|secret|sealed|cipher|hash|passw|session_key|session_data|jti|nonce|salt|cookie|credential|(^|_)key"
)
NO_SECRETS = {
    "accounts_user.session_version",
    "projects_agenttype.needs_api_key",
    "projects_agenttype.needs_telegram_token",
    "projects_quarantined.key",
    "projects_quarantined.owner_key",
}
"""Columns whose names sound like it: ids, and what is said of secrets."""


def test_every_column_that_may_hold_a_secret_is_listed(db: None) -> None:
    named = {name for name in columns() if SECRET.search(name.partition(".")[2])}
    assert named - NO_SECRETS == set(HELD)


@pytest.mark.parametrize(("column", "shape"), HELD.items())
def test_it_holds_what_the_list_says(live: Credentials, column: str, shape: str) -> None:
    found = stored()[column]
    if column != "projects_canary.ciphertext":  # a start of the service writes it
        assert found
    assert [value for value in found if not re.fullmatch(shape, value)] == []


def test_digests_are_those_of_the_credentials(live: Credentials) -> None:
    keys = set(Session.objects.values_list("session_key", flat=True))
    cookies = [cookie for door, each in live.by_door.items() if "cookie" in door for cookie in each]
    assert {digest_session_key(cookie) for cookie in cookies} <= keys
    assert not set(cookies) & keys
    assert RecoveryCode.objects.count() == 10


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_a_session_of_an_earlier_version_lets_nobody_in(alice: User) -> None:
    """Its row is there under its key, until the watcher deletes it."""
    client = browser_of(alice)
    key = _cookie_of(client)
    Session.objects.update(session_key=key)
    assert client.get("/settings").status_code == 302
    list(prune())
    assert not Session.objects.exists()


def test_the_digest_of_a_digest_is_not_taken_either(alice: User) -> None:
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


def test_a_session_lives_through_everything_that_is_done_with_it(alice: User) -> None:
    client = browser_of(alice)
    first = _cookie_of(client)
    assert client.get("/settings").status_code == 200
    changed = {"current": CANARY_PASSWORD, "new": "a passphrase, entirely new", "again": "a passphrase, entirely new"}
    client.post("/settings/password", changed)  # cycles the key
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


def test_an_asynchronous_view_would_store_no_key_either(db: None) -> None:
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
