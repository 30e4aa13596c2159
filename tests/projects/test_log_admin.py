"""Staff follow the log of an agent: each line once, without credentials, and no thread is held for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import Project
from tests.canaries import CANARY_API_KEY
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def page(project: Project) -> str:
    return f"/admin/projects/project/{project.pk}/log/"


@pytest.fixture
def staff(sam: User) -> Client:
    return browser_of(sam)


def _events(answer: Any) -> list[str]:
    found: list[str] = answer.content.decode().strip().split("\n\n")
    return found


def test_the_page_has_the_last_lines_and_asks_for_those_after_them(
    staff: Client, page: str, project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "berth.audit")
    engine.log(project.container_name, f"ERROR no {CANARY_API_KEY}")
    shown = staff.get(page).content.decode()
    assert 'data-level="error"' in shown
    assert f'data-address="{page}news/"' in shown
    assert CANARY_API_KEY not in shown
    assert f"admin_read_log by={User.objects.get(email='sam@example.com').pk} id={project.pk}" in caplog.text
    answer = staff.get(f"{page}news/")
    assert not answer.streaming
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("text/event-stream", "no-store")
    retry, *first = _events(answer)
    assert retry == "retry: 2000"
    last = first[-1].partition("\n")[0].removeprefix("id: ")
    both: tuple[Any, ...] = ({"query_params": {"after": last}}, {"headers": {"last-event-id": last}})
    for given in both:
        assert _events(staff.get(f"{page}news/", **given)) == [retry]
    engine.log(project.container_name, "2026-05-01 12:00:00,1 WARNING next")
    (new,) = _events(staff.get(f"{page}news/", query_params={"after": last}))[1:]
    assert '"level": "warning", "text": "next"' in new


def test_who_reads_what_was_printed_before_is_in_the_audit_log_and_who_follows_once(
    staff: Client, page: str, project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "berth.audit")

    def notes(after: str) -> bool:
        caplog.clear()
        assert staff.get(f"{page}news/", query_params={"after": after}).status_code == 200
        return "admin_read_log" in caplog.text

    now = datetime.now(UTC)
    old, lately, ahead = (f"{now + timedelta(seconds=each):%Y-%m-%dT%H:%M:%S.%fZ}" for each in (-86400, -60, 60))
    lines = engine.containers[project.container_name].lines
    lines[:] = [(now, "just now")]
    assert [notes(each) for each in ("", "rubbish", old, lately, ahead)] == [True, True, False, False, False]
    lines.insert(0, (now - timedelta(minutes=10), "before"))
    assert [notes(each) for each in ("", old, lately)] == [True, True, False]
    lines.clear()
    assert [notes(each) for each in ("", old)] == [False, False]


def test_a_silent_engine_is_told_and_others_are_not_let_in(
    staff: Client, page: str, alice: User, engine: MemoryEngine
) -> None:
    for other in (Client(), browser_of(alice)):
        assert other.get(page).status_code in {302, 403}
        assert other.get(f"{page}news/").status_code in {302, 403}
    assert staff.post(f"{page}news/").status_code == 405
    assert staff.get("/admin/projects/project/00000000-0000-0000-0000-000000000000/log/").status_code == 404
    engine.unavailable = True
    assert "errornote" in staff.get(page).content.decode()
    assert staff.get(f"{page}news/").status_code == 503
