"""Polls of unchanged pages are answered with one query, and exactly as the views would."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client

from accounts import clock
from accounts.models import User
from projects.dashboard import page_polls
from projects.dashboard.content import list_cache, page_cache
from projects.dashboard.content.list_cache import Memory
from projects.models import Project
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import marks_of, path_of
from tests.projects.histories import PageHistory

pytestmark = [pytest.mark.one_database("postgresql"), pytest.mark.usefixtures("still_clock")]

BOTH = pytest.mark.parametrize("kind", ["list", "page"])
OF_EACH = {"X-Request-ID", "RateLimit", "RateLimit-Policy", "Content-Length"}


@pytest.fixture(autouse=True)
def answered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The statuses of the quick answers."""
    monkeypatch.setattr(settings, "BERTH_LIMITS", {})
    found: list[int] = []
    answer = page_polls._QuickLook.answer

    def noted(look: Any) -> Any:
        given = answer(look)
        if given is not None:
            found.append(given.status_code)
        return given

    monkeypatch.setattr(page_polls._QuickLook, "answer", noted)
    yield found
    page_polls._let_in, list_cache._memory, page_cache._memory = Memory(), Memory(), Memory()


class Open:
    """An open list, or the open page of a project, and its polls every few seconds."""

    def __init__(self, dashboard: Client, project: Project | None = None) -> None:
        self.dashboard = dashboard
        self.path = path_of(project, "/changes") if project else "/projects/changes"
        self.seen: dict[str, Any] = {"quick": 1} if project else marks_of(dashboard.get("/"))

    def look(self) -> Any:
        answer = self.dashboard.get(self.path, self.seen)
        if answer.status_code == 200 and self.path != "/projects/changes":
            told = dict(part.split(".", 1) for part in re.findall(r'data-mark="([\w.]+)"', answer.content.decode()))
            shown = dict(mark.split(".", 1) for mark in self.seen.get("seen", []))
            self.seen = {"quick": 1, "seen": [f"{name}.{digest}" for name, digest in (shown | told).items()]}
        return answer

    def until_quick(self, answered: list[int]) -> None:
        for _ in range(4):
            self.look()
        answered.clear()
        assert self.look().status_code == 204
        assert answered == [204]
        answered.clear()


@pytest.fixture
def opened(dashboard: Client, alice: User) -> Callable[[str], Open]:
    def open_page(kind: str) -> Open:
        project = make_projects(alice, 1, generation=2)[0]
        watch_well()
        return Open(dashboard, project if kind == "page" else None)

    return open_page


@BOTH
def test_the_shortcut_needs_one_query_and_gives_the_same_answer(
    opened: Any, answered: list[int], django_assert_num_queries: Any, kind: str
) -> None:
    page = opened(kind)
    page.until_quick(answered)
    with django_assert_num_queries(1):
        quick = page.look()
    with patch.object(page_polls._QuickLook, "answer", lambda _: None):
        whole = page.look()
    assert answered == [204]
    assert whole.status_code == 204
    assert {name: value for name, value in quick.items() if name not in OF_EACH} == {
        name: value for name, value in whole.items() if name not in OF_EACH
    }
    assert quick.resolver_match.view_name == whole.resolver_match.view_name


def _change_password(_: Open, user: User) -> None:
    changed = User.objects.get(pk=user.pk)
    changed.set_password("another long password")
    changed.save()


ENDS: dict[str, Callable[[Open, User], Any]] = {
    "signed out": lambda page, _: page.dashboard.post("/sign-out"),
    "ended": lambda *_: Session.objects.all().delete(),
    "over": lambda *_: Session.objects.update(expire_date=clock.now() - timedelta(seconds=1)),
    "deactivated": lambda _, user: User.objects.filter(pk=user.pk).update(is_active=False),
    "another password": _change_password,
}


@BOTH
@pytest.mark.parametrize("end", ENDS)
def test_a_user_without_access_gets_nothing(opened: Any, alice: User, answered: list[int], kind: str, end: str) -> None:
    page = opened(kind)
    page.until_quick(answered)
    ENDS[end](page, alice)
    for _ in range(3):
        assert page.look().status_code == 302
    assert not answered


@BOTH
def test_a_session_ends_by_itself_and_by_a_clock_that_steps_back(
    opened: Any, answered: list[int], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    page, now = opened(kind), clock.now()
    page.until_quick(answered)
    for step in (timedelta(hours=13), timedelta(days=-2)):
        monkeypatch.setattr(clock, "now", lambda step=step: now + step)
        assert page.look().status_code == 302
    assert not answered


@BOTH
def test_quick_answers_count_as_others(
    opened: Any, answered: list[int], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    page = opened(kind)
    page.until_quick(answered)
    monkeypatch.setattr(settings, "BERTH_LIMITS", {"reads": 3})
    statuses = [page.look().status_code for _ in range(5)]
    assert statuses == [204] * 3 + [429] * 2
    assert answered == [204] * 3


def test_staff_who_need_a_second_factor_are_asked_for_it(
    opened: Any, alice: User, answered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    monkeypatch.setattr(settings, "BERTH_REQUIRE_STAFF_MFA", True)
    page = opened("page")
    for _ in range(4):
        page.look()
    assert not answered


def test_a_session_of_another_user_gives_no_access(opened: Any, bob: User, answered: list[int]) -> None:
    page = opened("page")
    page.until_quick(answered)
    page.dashboard = Client()
    page.dashboard.force_login(bob)
    assert [page.look().status_code for _ in range(4)] == [404] * 4
    assert not answered


@pytest.mark.rare(1)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(2))
def test_every_change_reaches_the_page(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch, answered: list[int], seed: int
) -> None:
    history = PageHistory(seed, alice)
    monkeypatch.setattr(clock, "now", lambda: history.now)
    for project in Project.objects.all()[1:]:
        project.delete()
    page, listed = Open(dashboard, Project.objects.get()), Open(dashboard)
    for number in range(25):
        history.step()
        for each in (page, listed):
            before = dict(each.seen)
            quick = each.look()
            with patch.object(page_polls._QuickLook, "answer", lambda _: None):
                whole = each.dashboard.get(each.path, before)
            assert (quick.status_code, quick.get("Checked-At")) == (whole.status_code, whole.get("Checked-At")), number
            if quick.status_code == 302:
                dashboard.force_login(alice)
            elif each is listed and quick.status_code == 200:
                listed.seen = marks_of(dashboard.get("/"))
    assert answered
