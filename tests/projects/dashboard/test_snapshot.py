"""A response is about one moment: status, reason and buttons agree, no matter how long it takes."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Project
from tests.factories import UserFactory
from tests.fakes.engine import MemoryEngine

SILENT = "The container engine has not answered about this agent for seconds: it is down, or busy."
BUTTONS_OF = {"Running": ["stop", "restart"], "Unknown": ["start", "stop", "restart"]}
AGES = [timedelta(seconds=0.5 * number) for number in range(-8, 12)]
"""How old an observation is at first. With one of them it becomes too old between any two readings of the clock."""


class Clock:
    """A clock that advances only between two readings, by `step`."""

    def __init__(self) -> None:
        self.real = timezone.now
        self.ahead = timedelta()
        self.step = timedelta()

    def now(self) -> datetime:
        self.ahead += self.step
        return self.real() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock.now)
    return clock


@pytest.fixture
def grow_old(clock: Clock, project: Project, engine: MemoryEngine) -> Callable[[timedelta], None]:
    """The engine is silent, and half a second passes with each reading of the clock."""
    engine.unavailable = True
    clock.step = timedelta(seconds=0.5)

    def start_with(age: timedelta) -> None:
        Project.objects.update(observed_at=clock.now() - age)

    return start_with


@pytest.fixture
def dashboard(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def badge_of(page: str) -> str:
    found = re.search(r'<span class="badge status \w+">(\w+)</span>', page)
    assert found
    return found[1]


def buttons_of(page: str) -> list[str]:
    return re.findall(r'name="action" value="(\w+)"(?: class="primary")?>', page)


def test_status_reason_and_last_known_status_of_the_api_agree(
    api: APIClient, project: Project, grow_old: Callable[[timedelta], None]
) -> None:
    seen = set()
    for age in AGES:
        grow_old(age)
        detail = api.get(f"/api/projects/{project.id}").json()
        code = (detail["status_reason"] or {}).get("code")
        seen.add((detail["status"], code, detail["last_known_status"]))
    assert seen == {("running", None, "running"), ("unknown", "engine_unavailable", "running")}


def test_badge_reason_and_buttons_of_the_page_agree(
    dashboard: Client, project: Project, grow_old: Callable[[timedelta], None]
) -> None:
    seen = set()
    for age in AGES:
        grow_old(age)
        page = dashboard.get(f"/projects/{project.pk}").content.decode()
        seen.add((badge_of(page), SILENT + " Nothing" in page, *buttons_of(page)))
    assert seen == {("Running", False, *BUTTONS_OF["Running"]), ("Unknown", True, *BUTTONS_OF["Unknown"])}


def test_badge_and_reason_of_the_list_agree(
    dashboard: Client, project: Project, grow_old: Callable[[timedelta], None]
) -> None:
    seen = set()
    for age in AGES:
        grow_old(age)
        page = dashboard.get("/").content.decode()
        seen.add((badge_of(page), SILENT in page))
    assert seen == {("Running", False), ("Unknown", True)}


def test_status_and_reason_of_the_admin_agree(project: Project, grow_old: Callable[[timedelta], None]) -> None:
    admin = Client()
    admin.force_login(UserFactory.create(is_staff=True))
    seen = set()
    for age in AGES:
        grow_old(age)
        page = admin.get(f"/admin/projects/project/{project.pk}/change/").content.decode()
        field = page.partition("field-status_and_reason")[2].partition("</div>\n")[0]
        seen.add(("Running" in field, "Unknown" in field, SILENT in field))
    assert seen == {(True, False, False), (False, True, True)}


@pytest.mark.parametrize(("silent_after", "badge"), [(False, "Running"), (True, "Unknown")])
def test_a_slow_log_does_not_make_badge_and_buttons_disagree(
    dashboard: Client, project: Project, engine: MemoryEngine, clock: Clock, silent_after: bool, badge: str
) -> None:
    engine.log(project.container_name, "the log came late")

    def take_ten_seconds() -> None:
        clock.ahead += timedelta(seconds=10)

    engine.slow("logs", take_ten_seconds)
    for verb in ("observe", "inspect"):
        engine.slow(verb, lambda: setattr(engine, "unavailable", silent_after))
    page = dashboard.get(f"/projects/{project.pk}").content.decode()
    assert "the log came late" in page
    assert badge_of(page) == badge
    assert (SILENT in page) == silent_after
    assert buttons_of(page) == BUTTONS_OF[badge]
