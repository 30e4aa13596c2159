"""The staff's notice to everyone, and what is refused during maintenance."""

from types import SimpleNamespace

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Notice, User
from accounts.services import notice
from projects.models import Project
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project

WORDS = "Until 9 o'clock <b>we</b> move the disks."


@pytest.fixture
def at_work(alice: User) -> Project:
    """Alice's project, and maintenance that began after it was created."""
    project: Project = deploy_project(api_of(alice))
    Notice.objects.create(pk=1, text=WORDS, is_maintenance=True)
    return project


def test_a_notice_is_shown_on_all_pages_as_text(alice: User, ada: User) -> None:
    assert "Notice of the staff" not in browser_of(alice).get("/settings").content.decode()
    Notice.objects.create(pk=1, text=WORDS)
    pages = [(None, "/sign-in"), (alice, "/"), (alice, "/settings"), (alice, "/nowhere"), (ada, "/admin/")]
    for who, path in pages:
        shown = browser_of(who).get(path).content.decode()
        assert "&lt;b&gt;we&lt;/b&gt; move the disks." in shown, path
        assert "Nothing can be changed" not in shown


def test_pages_read_a_notice_every_two_seconds_and_commands_immediately(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(notice, "KEPT_FOR", 2.0)
    monkeypatch.setattr(notice, "_kept", None)
    monkeypatch.setattr(notice, "time", SimpleNamespace(monotonic=lambda: now))
    browser, api = browser_of(alice), api_of(alice)

    def look() -> tuple[int, bool]:
        with CaptureQueriesContext(connection) as queries:
            page = browser.get("/settings")
        return sum("accounts_notice" in each["sql"] for each in queries), b"move the disks" in page.content

    assert look() == (1, False)
    Notice.objects.create(pk=1, text=WORDS, is_maintenance=True)
    assert look() == (0, False)
    body = {"name": "New", "scope": "read"}
    with CaptureQueriesContext(connection) as queries:
        assert api.post("/api/auth/keys", body).status_code == 503
    assert len([each for each in queries if "accounts_notice" in each["sql"]]) == 1  # with the token's user
    now += 2.0
    assert look() == (1, True)
    Notice.objects.all().delete()
    assert api.post("/api/auth/keys", body).status_code == 201


def test_the_api_refuses_changes_with_a_sentence_and_answers_reads(at_work: Project, alice: User) -> None:
    api, path = api_of(alice), f"/api/projects/{at_work.pk}"
    answers = [
        api.post("/api/projects", {"name": "x"}),
        api.patch(path, {"name": "x"}),
        api.delete(path),
        api.post(f"{path}/control", {"action": "stop"}),
        api.post("/api/projects/control", {"ids": [str(at_work.pk)], "action": "stop"}),
        api.post("/api/auth/keys", {"name": "New", "scope": "read"}),
    ]
    for answer in answers:
        assert answer.status_code == 503, answer.content
        assert answer.json()["code"] == "maintenance"
        assert WORDS in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) == 300
    assert api.get("/api/projects").status_code == api.get(path).status_code == 200
    assert api.post("/api/auth/logout").status_code == 204


def test_forms_are_refused_and_pages_shown(at_work: Project, alice: User) -> None:
    browser = browser_of(alice)
    assert "Nothing can be changed" in browser.get(f"/projects/{at_work.pk}").content.decode()
    answer = browser.post(f"/projects/{at_work.pk}/control", {"action": "stop"})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "300"
    assert "move the disks" in answer.content.decode()
    assert Client().post("/sign-in", {"username": "nobody@example.com", "password": "x"}).status_code == 200
    assert browser.post("/sign-out").status_code == 302
    at_work.refresh_from_db()
    assert at_work.desired == "running"


def test_staff_keep_working_during_maintenance_and_can_end_it(at_work: Project, sam: User) -> None:
    office = browser_of(sam)
    assert api_of(sam).post("/api/auth/keys", {"name": "New", "scope": "read"}).status_code == 201
    answer = office.post("/admin/accounts/notice/1/change/", {"text": "", "is_maintenance": ""})
    assert answer.status_code == 302
    assert not Notice.objects.get().is_maintenance
    assert office.get("/admin/accounts/notice/add/").status_code == 403


def test_others_change_no_notice(alice: User) -> None:
    assert browser_of(alice).post("/admin/accounts/notice/add/", {"text": "x"}).status_code in {302, 403}
    assert not Notice.objects.exists()
