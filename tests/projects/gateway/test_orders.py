"""Messages to the gateway may overtake each other: the one about the newest row wins in any order."""

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Actor, Project
from projects.rules.budget import Budget
from projects.services import delete_project, suspend_project
from projects.services.limits.budgets import grant_budget
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of, knows

pytestmark = pytest.mark.django_db
STAFF = Actor(label="sam@example.com", source="admin")
Act = Callable[[Project, Any], object]


def change_key(project: Project, api: Any) -> None:
    assert api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200


def grant(project: Project, _api: Any) -> None:
    grant_budget(project=project, granted=Budget(day_tokens=7), actor=STAFF)


def stop(project: Project, api: Any) -> None:
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "stop"}).status_code == 200


def suspend(project: Project, _api: Any) -> None:
    suspend_project(project=Project.objects.get(pk=project.pk), actor=STAFF)


def delete(project: Project, _api: Any) -> None:
    assert delete_project(project=Project.objects.get(pk=project.pk), actor=STAFF)


def look(_project: Project, _api: Any) -> None:
    look_after_gateway()


def overtake(engine: MemoryEngine, act: Callable[[], object]) -> None:
    """Carries out `act` completely while the next message to the gateway is on its way."""

    def hook() -> None:
        engine.slow("gateway", None)
        act()

    engine.slow("gateway", hook)


@pytest.mark.parametrize("second", [stop, suspend, delete])
@pytest.mark.parametrize("first", [change_key, grant])
def test_an_older_word_brings_no_credential_back(
    engine: MemoryEngine, project: Project, api: Any, first: Act, second: Act
) -> None:
    overtake(engine, lambda: second(project, api))
    first(project, api)
    assert entry_of(engine, project) is None


@pytest.mark.parametrize("second", [change_key, grant, look])
@pytest.mark.parametrize("first", [change_key, grant])
def test_two_simultaneous_changes_both_hold(
    engine: MemoryEngine, project: Project, api: Any, first: Act, second: Act
) -> None:
    overtake(engine, lambda: second(project, api))
    first(project, api)
    assert knows(engine, project)
    changed = {first, second}
    entry = entry_of(engine, project)
    assert (entry["provider"]["key"] == CANARY_OTHER_API_KEY) == (change_key in changed)
    assert (entry["budget"]["day_tokens"] == 7) == (grant in changed)


@pytest.mark.parametrize("second", [change_key, grant, stop, suspend, delete])
def test_a_look_of_the_watcher_undoes_nothing(engine: MemoryEngine, project: Project, api: Any, second: Act) -> None:
    """The watcher has read the rows before the change, and sends them after it."""
    Project.objects.filter(pk=project.pk).update(entry_version=50)
    asked: list[int] = []

    def hook() -> None:
        asked.append(1)
        if len(asked) == 2:  # the first question is about the versions
            engine.slow("gateway", None)
            second(project, api)

    engine.slow("gateway", hook)
    look_after_gateway()
    assert len(asked) == 2
    if second in {change_key, grant}:
        assert knows(engine, project)
    else:
        assert entry_of(engine, project) is None
