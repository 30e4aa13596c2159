"""The page of a project, kept up to date: what has changed since its browser last asked, and nothing else."""

import re
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from projects.dashboard.views.live import PARTS
from projects.models import Event, Project
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.many import watch_well
from tests.projects.dashboard.pages import path_of, text_of

pytestmark = pytest.mark.usefixtures("still_clock")

SMALL = 3 * 1024
"""Bytes of an answer, headers included, if nothing is new."""


def parts_of(answer: Any) -> dict[str, str]:
    """Returns the marks of the parts in the answer, by their ids."""
    return dict(re.findall(r'<div id="(\w+)" data-mark="([\w.]+)">', answer.content.decode()))


def size_of(answer: Any) -> int:
    return len(answer.content) + sum(len(f"{name}: {value}\r\n") for name, value in answer.headers.items())


@pytest.fixture
def changes(dashboard: Client, project: Project) -> Any:
    return lambda *seen, **asked: dashboard.get(path_of(project, "/changes"), {"quick": 1, "seen": seen, **asked})


def test_every_live_part_of_the_page_is_kept_up_to_date(
    dashboard: Client, project: Project, changes: Any, engine: MemoryEngine
) -> None:
    Project.objects.update(bot_username="harbour_bot")
    page = dashboard.get(path_of(project)).content.decode()
    live = set(re.findall(r'<\w+ [^>]*id="(\w+)"[^>]* data-live>', page)) | set(
        re.findall(r'<div id="(\w+)" data-live>', page)
    )
    assert live == set(PARTS)
    assert set(parts_of(changes(log=1))) == set(PARTS)
    engine.calls.clear()
    assert set(parts_of(changes())) == set(PARTS) - {"log"}
    assert "logs" not in str(engine.calls)  # a page that follows its log does not get it again


def test_content_already_shown_is_not_sent_again(changes: Any, project: Project) -> None:
    watch_well()
    seen = parts_of(changes())
    nothing = changes(*seen.values())
    assert (nothing.status_code, nothing.content) == (204, b"")
    assert size_of(nothing) <= SMALL
    Event.objects.update(at=timezone.now() - timedelta(hours=2))
    old = parts_of(changes(*seen.values()))
    assert set(old) == {"events"}
    Project.objects.update(provider="mistral")
    assert set(parts_of(changes(*(seen | old).values()))) == {"details"}


def test_with_time_alone_an_answer_is_small(changes: Any, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the time of the last check is new, and everything is longer ago."""
    watch_well()
    seen = parts_of(changes())
    later = timezone.now() + timedelta(minutes=3)
    monkeypatch.setattr("accounts.clock.now", lambda: later)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    watch_well()
    answer = changes(*seen.values())
    assert (answer.status_code, answer.content) == (204, b"")
    assert timezone.now() - timedelta(minutes=1) < datetime.fromisoformat(answer["Checked-At"]) <= later


def test_a_page_loaded_before_an_upgrade_gets_its_times_as_a_part(
    dashboard: Client, project: Project, changes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script does not read the header, and does not send `quick`."""
    watch_well()
    seen = parts_of(changes())
    changes(*seen.values())  # by now it is remembered
    later = timezone.now() + timedelta(minutes=3)
    monkeypatch.setattr("accounts.clock.now", lambda: later)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    watch_well()
    old = dashboard.get(path_of(project, "/changes"), {"seen": seen.values()})
    assert (old.status_code, set(parts_of(old))) == (200, {"checked"})


def test_the_text_next_to_the_link_follows_the_pairing(changes: Any, project: Project) -> None:
    Project.objects.update(bot_username="harbour_bot")
    awaiting = changes()
    assert "It answers nobody yet." in text_of(awaiting)
    Project.objects.update(agent_paired=1)
    paired = changes(*parts_of(awaiting).values())
    assert "It answers nobody yet." not in text_of(paired)
    assert "Open it here" in text_of(paired)
    assert "hello" in parts_of(paired)


def test_an_earlier_run_and_a_kind_of_events_stay_chosen(changes: Any, project: Project) -> None:
    Event.objects.create(
        project_id=project.pk, owner_id=project.owner_id, actor="system", source="system", action="crash"
    )
    assert changes(run=9).status_code == 404
    assert "Crash" in text_of(changes(event="crash"))
    assert "Deployed" not in text_of(changes(event="crash"))


def test_nobody_else_gets_the_updates(project: Project, bob: User) -> None:
    path = path_of(project, "/changes")
    assert browser_of(bob).get(path).status_code == 404
    assert Client().get(path).status_code == 302
    assert browser_of(bob).get(f"/projects/{uuid.uuid4()}/changes").status_code == 404
