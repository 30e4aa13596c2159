"""The list of projects: what it shows, and what it asks for."""

import gzip
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from projects.dashboard.content.list_cache import ListPoll
from projects.models import Actor, Event, Project
from projects.rules.status.lifecycle import Action, Desired
from projects.services import control_project
from tests.fakes.engine import MemoryEngine
from tests.paths import ROOT
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import marks_of, text_of

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("still_clock")]

STATIC = ROOT / "config/static"


def test_an_empty_list_invites_to_the_first_deploy(dashboard: Client) -> None:
    answer = dashboard.get("/")
    assert "Deploy your first agent" in text_of(answer)
    assert b'href="/projects/new"' in answer.content
    assert b'type="search"' not in answer.content


def test_a_project_is_listed_with_bot_status_plan_uptime_and_its_last_event(
    dashboard: Client, project: Project
) -> None:
    Project.objects.update(bot_username="harbour_bot", started_at=timezone.now() - timedelta(hours=3, minutes=5))
    answer = dashboard.get("/")
    text = text_of(answer)
    assert b'href="https://t.me/harbour_bot?start=' in answer.content
    for shown in ("Harbour pilot", "@harbour_bot", "Running", "pro", "up 3 hours", "Deployed alice@example.com,"):
        assert shown in text


def test_the_last_event_is_the_newest_and_staff_stay_staff(dashboard: Client, project: Project) -> None:
    staff = Actor(label="mallory@staff.example", source="admin", address="203.0.113.9")
    control_project(project=project, action=Action.STOP, actor=staff)
    text = text_of(dashboard.get("/"))
    assert "Stopped staff, just now" in text
    assert "mallory" not in text
    assert "Deployed" not in text


def test_the_list_gives_the_reason_of_a_project_in_trouble(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=None)
    engine.crash(project.container_name, exit_code=30)
    assert "The provider refused the API key." in text_of(dashboard.get("/"))


def test_a_silent_engine_makes_the_list_unknown_and_not_an_error(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.unavailable = True
    answer = dashboard.get("/")
    assert answer.status_code == 200
    assert "Unknown" in text_of(answer)


def test_the_address_that_people_type_leads_to_the_list(dashboard: Client) -> None:
    answer = dashboard.get("/projects?status=stopped")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/?status=stopped")


# -- many -----------------------------------------------------------------------------------------------------------


def queries_of(read: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        read()
    return len(queries)


def test_a_list_of_two_hundred_is_small_costs_as_many_queries_as_one_of_one_and_asks_no_engine(
    dashboard: Client, alice: User, engine: MemoryEngine
) -> None:
    make_projects(alice, 1)
    watch_well()
    dashboard.get("/")  # takes the permits of the minute, and knows the content types
    one = queries_of(lambda: dashboard.get("/"))
    make_projects(alice, 199)
    watch_well()
    engine.calls.clear()

    answers: list[Any] = []
    assert queries_of(lambda: answers.append(dashboard.get("/"))) == one
    assert engine.calls == []
    content = answers[0].content
    assert content.count(b'class="pick"') == 25
    assert len(content) <= 40 * 1024
    named = {name.decode() for name in re.findall(rb'(?:src|href)="/static/([^"]+)"', content)}
    shapes = {
        str(each.relative_to(STATIC)) for each in (STATIC / "berth/status").iterdir()
    }  # its style sheet requires that
    assert {"berth/berth.css", "berth/live.js", "berth/palette.js", "berth/copy.js"} < named
    files = [STATIC / name for name in named | shapes]
    sent = len(gzip.compress(content)) + sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert sent <= 60 * 1024


def test_an_unchanged_list_sends_nothing_and_a_change_sends_its_row_only(dashboard: Client, alice: User) -> None:
    projects = make_projects(alice, 30)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    nothing = dashboard.get("/projects/changes", seen)
    assert (nothing.status_code, nothing.content) == (204, b"")
    with patch.object(ListPoll, "is_known_to_find_nothing", lambda _: False):
        first = queries_of(lambda: dashboard.get("/projects/changes", seen))

    Event.objects.create(
        project_id=projects[3].pk, owner_id=alice.pk, actor="system", source="system", action="crash", outcome="crash"
    )
    changed = dashboard.get("/projects/changes", seen)
    assert changed.content.count(b"hx-swap-oob") == 1
    assert f'id="row-{projects[3].pk}" hx-swap-oob="true"'.encode() in changed.content
    assert len(changed.content) <= 3 * 1024
    assert queries_of(lambda: dashboard.get("/projects/changes", seen)) == first + 1  # what the changed ones use


def test_another_order_or_another_project_brings_the_whole_list(dashboard: Client, alice: User) -> None:
    projects = make_projects(alice, 3)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    Project.objects.filter(pk=projects[0].pk).update(desired=Desired.STOPPED, container_state="exited")
    stopped = dashboard.get("/projects/changes", seen)
    assert b'<div id="list" hx-swap-oob="true">' in stopped.content
    assert stopped.content.count(b"hx-swap-oob") == 1
    assert "<h1" not in stopped.content.decode()
    Project.objects.all().delete()
    assert "Deploy your first agent" in text_of(dashboard.get("/projects/changes", seen))


@pytest.mark.parametrize(
    "seen",
    [{}, {"order": "x"}, {"order": ["", ""]}, {"order": "\0" * 9}, {"seen": ["é" * 500] * 150}, {"seen": []}],
    ids=["none", "wrong", "empty", "nul", "many", "too few"],
)
def test_marks_that_no_page_sends_bring_the_whole_list(dashboard: Client, project: Project, seen: Any) -> None:
    sent = seen if "order" in seen or not seen else marks_of(dashboard.get("/")) | seen
    answer = dashboard.get("/projects/changes", sent)
    assert answer.status_code == 200
    assert b'<div id="list" hx-swap-oob="true">' in answer.content


def test_the_list_alone_is_the_answer_to_a_page_that_has_the_rest(dashboard: Client, project: Project) -> None:
    part = dashboard.get("/", headers={"HX-Request": "true"})
    assert part.content.lstrip().startswith(b'<div id="list">')
    back = dashboard.get("/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert b"<!doctype html>" in back.content
