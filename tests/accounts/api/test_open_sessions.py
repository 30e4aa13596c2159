"""/api/auth/sessions: list where a user is signed in, and end a session."""

import uuid
from typing import Any

from django.test import Client

from accounts.models import Notice, OpenSession, User
from tests.accounts.dashboard.signing_in import SIGN_IN, is_in
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key

SESSIONS = "/api/auth/sessions"


def log_in(program: str) -> str:
    answer = Client(headers={"User-Agent": program}).post("/api/auth/login", SIGN_IN, "application/json")
    return str(answer.json()["token"])


def listed(call: Call, token: str) -> list[dict[str, Any]]:
    answer = call("GET", SESSIONS, by=token)
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()
    return rows


def test_pages_and_tokens_are_listed_newest_first_and_this_one_is_marked(call: Call, alice: User) -> None:
    browser = Client()
    browser.post("/sign-in", SIGN_IN)
    script, here = log_in("script/1"), log_in("curl/8")
    rows = listed(call, here)
    assert [(row["kind"], row["program"], row["is_current"]) for row in rows] == [
        ("api", "curl", True),
        ("api", "script", False),
        ("dashboard", "", False),
    ]
    assert {row["address"] for row in rows} == {"127.0.0.1"}
    assert rows[0].keys() == {"id", "kind", "program", "address", "began_at", "ends_at", "is_current"}
    assert listed(call, script)[1]["is_current"]


def test_each_session_can_be_ended_alone_even_during_maintenance(call: Call, alice: User) -> None:
    browser = Client()
    browser.post("/sign-in", SIGN_IN)
    script, here = log_in("script/1"), log_in("curl/8")
    own, other, page = (row["id"] for row in listed(call, here))
    Notice.objects.create(pk=1, is_maintenance=True)
    assert call("DELETE", f"{SESSIONS}/{page}", by=here).status_code == 204
    assert not is_in(browser)
    assert [row["id"] for row in listed(call, script)] == [own, other]
    assert call("DELETE", f"{SESSIONS}/{other}", by=here).status_code == 204
    assert call("GET", SESSIONS, by=script).status_code == 401
    assert call("DELETE", f"{SESSIONS}/{other}", by=here).status_code == 404
    assert call("DELETE", f"{SESSIONS}/{own}", by=here).status_code == 204
    assert call("GET", SESSIONS, by=here).status_code == 401


def test_a_stranger_s_session_is_answered_like_an_unknown_one(call: Call, alice: User, bob: User) -> None:
    token = log_in("curl/8")
    hers = OpenSession.objects.get().pk
    answers = [
        call("DELETE", f"{SESSIONS}/{session_id}", by=bob, **{"X-Request-ID": "same"})
        for session_id in (hers, uuid.uuid4(), "not-an-id", "%00")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert call("GET", SESSIONS, by=bob).json() == []
    assert len(listed(call, token)) == 1


def test_an_api_key_neither_lists_nor_ends_sessions(call: Call, alice: User) -> None:
    log_in("curl/8")
    key = plain_key(ApiKeyFactory.create(user=alice))
    assert call("GET", SESSIONS, by=key).status_code == 403
    assert call("DELETE", f"{SESSIONS}/{OpenSession.objects.get().pk}", by=key).status_code == 403
    assert OpenSession.objects.count() == 1
