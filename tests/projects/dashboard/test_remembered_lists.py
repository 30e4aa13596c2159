"""An open list gets 204 exactly if a complete comparison would find no change."""

import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from accounts import clock
from accounts.models import User
from projects.dashboard.content import list_cache
from projects.dashboard.content.list_cache import ListPoll
from projects.models import Event, Project
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import marks_of
from tests.projects.histories import History

pytestmark = pytest.mark.usefixtures("still_clock")


@pytest.fixture(autouse=True)
def _memory() -> Iterator[None]:
    yield
    list_cache._memory = list_cache.Memory()


def ask(dashboard: Client, seen: Any) -> tuple[int, bytes]:
    answer = dashboard.get("/projects/changes", seen)
    return answer.status_code, re.sub(rb"name=.csrfmiddlewaretoken. value=.\w+", b"", answer.content)


def compare(dashboard: Client, seen: Any) -> tuple[int, bytes]:
    """Returns the response of a process that remembers nothing."""
    with patch.object(ListPoll, "is_known_to_find_nothing", lambda _: False):
        return ask(dashboard, seen)


def note(project_id: Any, owner: User, at: Any) -> None:
    told = {"actor": "system", "source": "system", "action": "crash", "outcome": "crash"}
    Event.objects.create(project_id=project_id, owner_id=owner.pk, at=at, **told)


@pytest.mark.rare(1)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_every_change_reaches_the_list(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(settings, "BERTH_LIMITS", {})
    history = History(seed, alice)
    monkeypatch.setattr(clock, "now", lambda: history.now)
    seen = marks_of(dashboard.get("/"))
    short, outcomes = [], set()
    for number in range(40):
        history.step()
        dashboard.force_login(alice)  # a session from a future in which the clock stood before does not count
        if history.draw.random() < 0.1:
            note(history.draw.choice(Project.objects.all()).pk, alice, history.now)
        first = compare(dashboard, seen)
        assert ask(dashboard, seen) == first, number
        outcomes.add(first[0])
        short.append(len(list_cache._memory._same) > 0)
        if first[0] == 200:
            seen = marks_of(dashboard.get("/"))
    assert outcomes == {200, 204}
    assert any(short) == (connection.vendor == "postgresql")


def test_a_few_pages_more_than_are_remembered_push_out_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open pages poll in turn, again and again."""
    monkeypatch.setattr(list_cache, "REMEMBERED", 40)
    memory: list_cache.Memory[int, int] = list_cache.Memory()
    known = []
    for page in [*range(44)] * 20:
        known.append(memory.get(page) is not None)
        memory.keep(page, page)
    assert sum(known[-440:]) > 220
    assert len(memory._same) <= 40


def test_an_unchanged_list_costs_one_query_and_reads_no_project(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    make_projects(alice, 30)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    assert ask(dashboard, seen)[0] == 204
    with django_assert_max_num_queries(20) as asked:
        assert ask(dashboard, seen)[0] == 204
    read = [query["sql"] for query in asked if '"projects_project"."name"' in query["sql"]]
    assert (not read) == (connection.vendor == "postgresql")


def test_changes_outside_the_rows_are_seen_within_a_minute(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_projects(alice, 3)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    ask(dashboard, seen)
    monkeypatch.setattr(list_cache, "COMPARED_EVERY", 0.0)
    list_cache._memory = list_cache.Memory()
    ask(dashboard, seen)
    reading = patch("projects.dashboard.views.lists._read", side_effect=AssertionError("it is read again"))
    with reading, pytest.raises(AssertionError, match="read again"):
        ask(dashboard, seen)


def test_a_remembered_list_is_never_given_to_another_user(dashboard: Client, alice: User, bob: User) -> None:
    make_projects(alice, 3)
    watch_well()
    seen = marks_of(dashboard.get("/"))
    assert ask(dashboard, seen)[0] == ask(dashboard, seen)[0] == 204
    his = Client()
    his.force_login(bob)
    assert b"Agent 000" not in his.get("/projects/changes", seen).content


def test_the_memory_is_bounded(dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_cache, "REMEMBERED", 2)
    make_projects(alice, 1)
    watch_well()
    for number in range(5):
        asked: dict[str, Any] = {"q": "agent", "page": number}
        ask(dashboard, {**marks_of(dashboard.get("/", asked)), **asked})
        assert len(list_cache._memory._same) <= 2
