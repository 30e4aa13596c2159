"""The small curves in the rows of the list."""

import gzip
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from projects.models import Project, Sample
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import marks_of, text_of

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("still_clock")]
HTMX = {"HX-Request": "true"}


def measure(projects: list[Project]) -> None:
    """Adds an hour of samples for each, with numbers that make long paths."""
    now = timezone.now()
    Sample.objects.bulk_create(
        Sample(
            project_id=project.pk, at=now - timedelta(minutes=minute), cpu=1234 + 997 * minute % 5000,
            memory=(100 + 37 * minute % 90) << 20, received=0, sent=0,
        )
        for project in projects
        for minute in range(1, 58)
    )  # fmt: skip


def ask(dashboard: Client, path: str, **query: Any) -> tuple[int, Any]:
    """Returns the number of queries, and the answer."""
    with CaptureQueriesContext(connection) as queries:
        answer = dashboard.get(path, query)
    return len(queries), answer


def test_a_row_shows_the_usage_of_its_agent(dashboard: Client, alice: User) -> None:
    measured, unmeasured, stopped = make_projects(alice, 3)
    watch_well()
    measure([measured, stopped])
    Project.objects.filter(pk=stopped.pk).update(desired="stopped", container_state="exited")
    answer = dashboard.get("/")
    assert re.findall(r"CPU [0-9.]+ % Memory [0-9.]+ MB", text_of(answer)) == ["CPU 22.3 % Memory 137 MB"]
    assert answer.content.count(b"<path") == 2
    assert f'id="used-{unmeasured.pk}"'.encode() in answer.content


def test_two_hundred_curves_are_small_and_cost_one_more_query(
    dashboard: Client, alice: User, engine: MemoryEngine
) -> None:
    projects = make_projects(alice, 200)
    watch_well()
    dashboard.get("/")
    without, _ = ask(dashboard, "/")
    measure(projects[:25])
    engine.calls.clear()
    queries, answer = ask(dashboard, "/")
    assert queries == without
    assert engine.calls == []
    assert answer.content.count(b"<path") == 50
    assert len(answer.content) <= 60 * 1024
    assert len(gzip.compress(answer.content)) <= 12 * 1024


def test_usage_alone_is_no_change_and_is_refreshed_once_a_minute(dashboard: Client, alice: User) -> None:
    projects = make_projects(alice, 30)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    nothing, answer = ask(dashboard, "/projects/changes", **seen)
    measure(projects)
    assert answer.status_code == 204
    assert ask(dashboard, "/projects/changes", **seen)[0] <= nothing  # PostgreSQL remembers the session by then
    assert dashboard.get("/projects/changes", seen).status_code == 204
    curves = dashboard.get("/projects/curves", headers=HTMX)
    assert curves.content.count(b"hx-swap-oob") == 25
    assert f'id="used-{projects[0].pk}" hx-swap-oob="true"'.encode() in curves.content
    assert len(gzip.compress(curves.content)) <= 6 * 1024


def test_nobody_gets_the_curves_of_another(bob: User, alice: User) -> None:
    measure(make_projects(alice, 2))
    watch_well()
    assert browser_of(bob).get("/projects/curves", headers=HTMX).content.strip() == b""


def test_the_curves_are_no_page_to_read(dashboard: Client) -> None:
    assert dashboard.get("/projects/curves").headers["Location"] == "/"
    assert dashboard.get("/projects/curves?q=pilot&x=y").headers["Location"] == "/?q=pilot"
