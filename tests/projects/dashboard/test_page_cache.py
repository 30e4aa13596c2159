"""An open page of a project gets the same response from memory as from reading everything."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from accounts import clock
from accounts.models import User
from projects.dashboard import page_polls
from projects.dashboard.content import list_cache, page_cache
from projects.dashboard.content.page_cache import PagePoll
from projects.models import AgentType, Event, Plan, Project, Run, Spending
from projects.models.columns.pairing import PairsPeople
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import path_of
from tests.projects.histories import PageHistory

pytestmark = pytest.mark.usefixtures("still_clock")

REMEMBERS = connection.vendor == "postgresql"


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each poll was answered from memory."""
    found: list[bool] = []
    find = PagePoll.find_checked

    def noted(look: PagePoll, seen: Any) -> Any:
        checked_at = find(look, seen)
        found.append(checked_at is not None)
        return checked_at

    monkeypatch.setattr(PagePoll, "find_checked", noted)
    monkeypatch.setattr(page_polls._QuickLook, "answer", lambda _: None)
    yield found
    page_cache._memory = list_cache.Memory()


class Page:
    """Polls like refresh.js, which sends the last known mark of each part."""

    def __init__(self, dashboard: Client, project: Project) -> None:
        self.dashboard, self.path, self.seen = dashboard, path_of(project, "/changes"), {"checked": "checked.none"}

    def ask(self, **more: Any) -> tuple[int, str]:
        answer = self.dashboard.get(self.path, {"quick": 1, "seen": list(self.seen.values()), **more})
        return answer.status_code, answer.content.decode()

    def look(self, **more: Any) -> set[str]:
        return self.take(self.ask(**more)[1])

    def take(self, text: str) -> set[str]:
        told = dict(re.findall(r'<div id="(\w+)" data-mark="([\w.]+)">', text))
        self.seen |= told
        return set(told)


@pytest.mark.rare(1)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_every_change_reaches_the_project_page(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch, taken: list[bool], seed: int
) -> None:
    monkeypatch.setattr(settings, "BERTH_LIMITS", {})
    history = PageHistory(seed, alice)
    monkeypatch.setattr(clock, "now", lambda: history.now)
    for project in Project.objects.all()[1:]:
        project.delete()
    page = Page(dashboard, Project.objects.get())
    for number in range(40):
        history.step()
        told = page.ask()
        with patch.object(PagePoll, "find_checked", lambda *_: None), patch.object(PagePoll, "remember"):
            assert told == page.ask(), number
        if told[0] == 302:
            dashboard.force_login(alice)
        page.take(told[1])
    assert any(taken) == REMEMBERS


def test_a_change_of_any_shown_value_is_sent(dashboard: Client, alice: User, taken: list[bool]) -> None:
    project = make_projects(alice, 1, generation=2, bot_id=7, bot_username="harbour_bot")[0]
    watch_well()
    mine, of_mine = Project.objects.filter(pk=project.pk), {"project_id": project.pk}
    day = clock.now().date()
    spent = {"day": day, "month": day.replace(day=1), "month_tokens": 5}
    told = {"owner_id": alice.pk, "actor": "system", "source": "system", "action": "crash", "outcome": "crash"}
    changes: list[tuple[str, Any]] = [
        ("details", lambda: mine.update(provider="mistral")),
        ("details", lambda: Plan.objects.filter(pk=project.plan_id).update(memory_mb=77)),
        ("details", lambda: AgentType.objects.filter(pk=project.agent_type_id).update(title="Another")),
        ("usage", lambda: Spending.objects.create(**of_mine, **spent)),
        ("usage", lambda: Spending.objects.update(month_tokens=6)),
        ("runs", lambda: Run.objects.create(**of_mine, number=1, container_id="a")),
        ("runs", lambda: Run.objects.all().delete()),
        # Even one that another process wrote with a clock that is behind.
        ("events", lambda: Event.objects.create(**of_mine, **told, at=clock.now() - timedelta(hours=3))),
        ("events", lambda: Event.objects.filter(**of_mine, action="crash").delete()),
        ("pair", lambda: mine.update(**project.encrypt_pairing_secret(in_force_from=0))),
        ("status", lambda: mine.update(health="unhealthy")),
    ]
    page = Page(dashboard, project)
    for number, (part, change) in enumerate(changes):
        page.look()
        taken.clear()
        watch_well()
        assert page.look() == set(), number
        assert taken == [REMEMBERS], number
        change()
        assert part in page.look(), number


def test_the_link_is_another_each_day(dashboard: Client, alice: User, taken: list[bool]) -> None:
    project = make_projects(alice, 1, generation=2, bot_id=7, bot_username="harbour_bot")[0]
    Project.objects.update(**project.encrypt_pairing_secret(in_force_from=0))
    watch_well()
    page = Page(dashboard, project)
    page.look()
    assert page.look() == set()
    with (
        patch.object(page_cache, "_day_of", lambda _: None),
        patch.object(PairsPeople, "owners_code", lambda _: "new"),
    ):
        assert page.look() == {"pair"}
    assert taken == [False, REMEMBERS, False]


def test_logs_new_deploys_and_updates_are_never_served_from_memory(
    dashboard: Client, alice: User, taken: list[bool]
) -> None:
    project = make_projects(alice, 1, generation=2)[0]
    page = Page(dashboard, project)

    def is_remembered(**more: Any) -> bool:
        page_cache._memory = list_cache.Memory()
        watch_well()
        page.look(**more)
        taken.clear()
        page.ask(**more)
        return any(taken)

    assert is_remembered() == is_remembered(run=1) == REMEMBERS
    assert not is_remembered(log=1)
    assert not is_remembered(event="deploy")
    for columns in ({"update_step": "trial"}, {"update_step": "", "generation": 1}):
        Project.objects.update(**columns)
        assert not is_remembered()


def test_a_remembered_page_is_never_given_to_another_user(dashboard: Client, alice: User, bob: User) -> None:
    page = Page(dashboard, make_projects(alice, 1, generation=2)[0])
    watch_well()
    assert page.look()
    assert page.look() == set()
    page.dashboard = Client()
    page.dashboard.force_login(bob)
    assert page.ask()[0] == 404


def test_a_remembered_page_is_read_again_each_minute(
    dashboard: Client, alice: User, monkeypatch: pytest.MonkeyPatch, taken: list[bool]
) -> None:
    monkeypatch.setattr(page_cache, "COMPARED_EVERY", 0.0)
    page = Page(dashboard, make_projects(alice, 1, generation=2)[0])
    watch_well()
    assert page.look()
    assert page.look() == set()
    assert not any(taken)
