"""The sessions of a user are listed with place and time, and can be ended one by one."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from accounts.credentials.session_tokens import issue_session
from accounts.models import OpenSession, User
from accounts.services.open_sessions import MOST, note_api_session
from tests.accounts.dashboard.signing_in import SIGN_IN, is_in
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEW = "a passphrase, entirely new"


def sign_in(**headers: str) -> Client:
    client = Client(headers={"User-Agent": FIREFOX, **headers})
    assert client.post("/sign-in", SIGN_IN).status_code == 302
    return client


def token_of_login() -> str:
    answer = Client(headers={"User-Agent": "curl/8.5.0"}).post("/api/auth/login", SIGN_IN, "application/json")
    return str(answer.json()["token"])


def ask(token: str) -> int:
    return int(Client().get("/api/projects", headers={"Authorization": f"Bearer {token}"}).status_code)


def listed(client: Client) -> list[tuple[str, bool]]:
    return [(row.program, is_this) for row, is_this in client.get("/settings").context["sessions"]]


def end(client: Client, row: OpenSession) -> Any:
    return client.post(f"/settings/sessions/{row.pk}/end")


def test_pages_and_tokens_are_listed_and_this_one_is_marked(alice: User) -> None:
    here, token = sign_in(), token_of_login()
    assert listed(here) == [("curl", False), ("Firefox, Linux", True)]
    assert "127.0.0.1" in here.get("/settings").content.decode()
    Client().post("/api/auth/logout", headers={"Authorization": f"Bearer {token}"})
    assert listed(here) == [("Firefox, Linux", True)]
    other = sign_in()
    assert len(listed(here)) == 2
    other.post("/sign-out")
    assert len(listed(here)) == 1


def test_each_is_ended_alone(alice: User) -> None:
    here, there, token, kept = sign_in(), sign_in(), token_of_login(), token_of_login()
    rows = {row.token: row for row in OpenSession.objects.all()}
    of_there, of_here = OpenSession.objects.filter(kind="dashboard").order_by("-began_at")
    assert end(here, of_there).headers["Location"] == "/settings"
    assert not is_in(there)
    newest_first = OpenSession.objects.filter(kind="api").order_by("-began_at")
    end(here, newest_first[1])
    assert (ask(token), ask(kept)) == (401, 200)
    assert is_in(here)
    assert end(here, of_here).headers["Location"] == "/sign-in"
    assert not is_in(here)
    assert len(rows) == 4
    assert OpenSession.objects.count() == 1
    assert ask(kept) == 200


def test_a_stranger_s_session_cannot_be_ended(alice: User, bob: User) -> None:
    token = token_of_login()
    row, bobs = OpenSession.objects.get(), Client()
    bobs.force_login(bob)
    assert end(bobs, row).status_code == bobs.post(f"/settings/sessions/{uuid4()}/end").status_code == 404
    assert end(Client(), row).headers["Location"].startswith("/sign-in")
    assert Client(enforce_csrf_checks=True).post(f"/settings/sessions/{row.pk}/end").status_code == 403
    assert ask(token) == 200
    assert listed(bobs) == []


def test_ending_all_others_keeps_this_session_in_the_list(alice: User, phone: Phone) -> None:
    here, _ = sign_in(), sign_in()
    again = {"current": CANARY_PASSWORD, "new": NEW, "again": NEW}
    assert here.post("/settings/password", again).status_code == 302
    assert listed(here) == [("Firefox, Linux", True)]
    row = OpenSession.objects.get(session_version=User.objects.get().session_version)
    assert end(here, row).headers["Location"] == "/sign-in"
    assert not is_in(here)


def test_a_session_whose_key_changes_at_that_moment_is_ended_too(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = sign_in(), sign_in()
    row = OpenSession.objects.order_by("-began_at")[0]
    found, session = OpenSession.objects.filter, there.session

    def change_key(**values: Any) -> Any:
        rows = found(**values)
        monkeypatch.undo()
        chosen = [rows.first()]
        session.cycle_key()
        return type("Rows", (), {"first": lambda _: chosen[0]})()

    monkeypatch.setattr(OpenSession.objects, "filter", change_key)
    from accounts.services.open_sessions import end_session

    end_session(user=alice, session_id=row.pk)
    assert is_in(here)
    assert Session.objects.count() == 1


def test_there_is_an_end_to_the_list(alice: User) -> None:
    for _ in range(MOST + 2):
        note_api_session(user=alice, token=issue_session(alice), address=None, program="")
    assert OpenSession.objects.count() == MOST


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari, iPhone"),
        ("python-requests/2.32", "python-requests"),
        ("", ""),
        ("\u202e<script>alert(1)</script>" + "x" * 999, "<script>alert(1)<"),
    ],
)
def test_a_client_is_called_by_two_words(alice: User, said: str, told: str) -> None:
    page = sign_in(**{"User-Agent": said}).get("/settings")
    assert listed_program(page) == told
    assert b"<script>alert" not in page.content


def listed_program(page: Any) -> str:
    return str(page.context["sessions"][0][0].program)


def test_the_name_is_shown_in_place_of_the_email(alices: Client, alice: User) -> None:
    assert alices.post("/settings/profile", {"name": "Alice <b>"}).headers["Location"] == "/settings"
    page = alices.get("/settings").content.decode()
    assert 'class="who" title="alice@example.com">Alice &lt;b&gt;<' in page
    assert alices.post("/settings/profile", {"name": "a\u202eb"}).status_code == 200
    assert User.objects.get().name == "Alice <b>"
    alices.post("/settings/profile", {"name": ""})
    assert 'class="who">alice@example.com<' in alices.get("/settings").content.decode()
