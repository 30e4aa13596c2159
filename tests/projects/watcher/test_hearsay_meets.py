"""An agent has ended and the engine has not completed that: commands, faults and other clocks meanwhile."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.rules.status.lifecycle import CRASH_LIMIT
from projects.watcher.ends.run_ends import RunEnds
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import look, statuses
from tests.projects.watcher.rows import later
from tests.projects.watcher.slow_ends import be_down, go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

SETTLED = {"start": "running", "restart": "running", "stop": "stopped", "delete": "", "patch": "running"}


@pytest.fixture
def told(project: Project, engine: MemoryEngine) -> Callable[[], RunEnds]:
    """The agent has ended, and the watcher has recorded that from the events. Returns a round with everything since."""
    ends = RunEnds()
    read = [0]

    def hear() -> RunEnds:
        for found, _ in engine._events[read[0] :]:
            ends.note(found)
        read[0] = len(engine._events)
        return ends

    go_down(engine, project)
    look_with(hear())
    assert Project.objects.get().container_state == "restarting"
    return hear


def look_with(ends: RunEnds) -> list[str]:
    return look(changed_keys=ends.keys_of_ended(), find_end=ends.find)


def crashes() -> list[str]:
    return list(Event.objects.filter(action="crash").values_list("outcome", flat=True))


@pytest.mark.parametrize("verb", SETTLED)
def test_each_command_is_carried_out_or_refused_and_nothing_is_held(
    verb: str, project: Project, engine: MemoryEngine, told: Callable[[], RunEnds], api: APIClient
) -> None:
    url = f"/api/projects/{project.pk}"
    match verb:
        case "delete":
            answer = api.delete(url)
        case "patch":
            answer = api.patch(url, {"name": "Another"})
        case _:
            answer = api.post(f"{url}/control", {"action": verb})
    assert answer.status_code < 300 or answer.json()["code"] == "engine_unavailable", answer.content
    for container in engine.containers.values():
        be_down(engine, container.name)
    for _ in range(3):
        assert look_with(told()) == []
    assert statuses(api) == ({str(project.pk): SETTLED[verb]} if SETTLED[verb] else {})
    assert len(crashes()) <= 1
    assert not Project.objects.exclude(operation="").exists()


def test_a_watcher_that_has_heard_nothing_counts_the_crash_once(
    project: Project, engine: MemoryEngine, told: object
) -> None:
    """The one that had received them was killed."""
    assert len(look()) == 1  # its state is unknown
    be_down(engine, project.container_name)
    later(project, reconcile_again_at=None)
    for _ in range(3):
        assert look() == []
    assert crashes() == ["crash"]
    assert Project.objects.get().crash_count == 1
    assert engine.containers[project.container_name].is_up


def test_an_end_together_with_the_engine_is_no_crash_and_the_agent_comes_back(
    project: Project, engine: MemoryEngine, told: Callable[[], RunEnds]
) -> None:
    be_down(engine, project.container_name)
    engine.since = timezone.now() + timedelta(seconds=1)
    told().note_gap()
    look_with(told())
    assert crashes() == []
    assert engine.containers[project.container_name].is_up


def test_a_container_removed_meanwhile_is_recreated(
    project: Project, engine: MemoryEngine, told: Callable[[], RunEnds], api: APIClient
) -> None:
    engine.vanish(project.container_name)
    for _ in range(2):
        assert look_with(told()) == []
    assert statuses(api) == {str(project.pk): "running"}


@pytest.mark.parametrize("step", [timedelta(days=-1), timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=1)])
@pytest.mark.parametrize("exit_code", [1, 137])
def test_a_step_of_the_clock_holds_nothing_up(
    project: Project, engine: MemoryEngine, told: Callable[[], RunEnds], step: timedelta, exit_code: int
) -> None:
    be_down(engine, project.container_name)
    engine.containers[project.container_name].exit_code = exit_code
    later(project, observed_at=timezone.now() - step, updated_at=timezone.now() - step)
    for _ in range(2):
        look_with(told())
    assert len(crashes()) == 1
    assert engine.containers[project.container_name].is_up


def test_the_fifth_crash_is_the_last_however_late_each_is_recorded(
    project: Project, engine: MemoryEngine, told: Callable[[], RunEnds], api: APIClient
) -> None:
    for number in range(CRASH_LIMIT):
        if number:
            go_down(engine, project)
            look_with(told())
        be_down(engine, project.container_name)
        for _ in range(2):
            look_with(told())
    assert statuses(api) == {str(project.pk): "crashed"}
    assert len(crashes()) == CRASH_LIMIT
