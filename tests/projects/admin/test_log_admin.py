"""Staff follow the log of an agent: each line once, without credentials, and no thread is held for it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import clock
from accounts.credentials import dashboard_sessions
from accounts.models import User
from projects.models import Project, Quarantined
from tests.canaries import CANARY_API_KEY
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.security.populated_service import add_to_quarantine

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


def test_the_page_shows_the_last_lines_and_fetches_later_ones(
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


@pytest.mark.parametrize("after", ["", "rubbish", "2026-05-01T12:00:00.000000Z", "2126-05-01T12:00:00.000000Z"])
def test_every_reader_is_audited_once_an_hour(
    staff: Client,
    page: str,
    project: Project,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    after: str,
) -> None:
    caplog.set_level("INFO", "berth.audit")

    def notes(of: str = page) -> int:
        caplog.clear()
        assert staff.get(f"{of}news/", query_params={"after": after}).status_code == 200
        return caplog.text.count("admin_read_log")

    assert [notes(), notes()] == [1, 0]
    began = clock.now()
    monkeypatch.setattr(
        dashboard_sessions, "clock", SimpleNamespace(now=timezone.now)
    )  # the session continues meanwhile
    for later, noted in ((59, 0), (61, 1), (62, 0), (-60, 1)):
        monkeypatch.setattr(clock, "now", lambda later=later: began + timedelta(minutes=later))
        assert notes() == noted, later


def test_a_silent_engine_is_reported_and_others_are_refused(
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


@pytest.mark.parametrize("method", ["get", "head", "options"])
@pytest.mark.parametrize("log", ["", "2026-05-01T12:00:00Z hello"])
def test_a_page_that_shows_an_agent_s_last_lines_is_audited(
    staff: Client, project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture, log: str, method: str
) -> None:
    caplog.set_level("INFO", "berth.audit")
    entry = add_to_quarantine(engine, project.owner)
    Quarantined.objects.update(log=log)
    Project.objects.update(log_tail=log, container_state="exited", exit_code=1)
    for row in (project, entry):
        caplog.clear()
        assert getattr(staff, method)(f"/admin/projects/{row._meta.model_name}/{row.pk}/change/").status_code == 200
        line = f"admin_read_log by={User.objects.get(email='sam@example.com').pk} id={row.pk}"
        assert caplog.text.count(line) == caplog.text.count("admin_read_log") == bool(log)
