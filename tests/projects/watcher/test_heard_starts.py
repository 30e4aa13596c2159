"""Agents that the engine restarts while it does not answer about them: its events show their start."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from containers.vocabulary import ContainerState, Health
from projects.models import Event, Project
from projects.watcher.ends.run_ends import STARTED_LATELY, RunEnds
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import be_late, look, look_at_ended, statuses
from tests.projects.watcher.rows import later
from tests.projects.watcher.slow_ends import be_down, go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def start_again(engine: MemoryEngine, project: Project) -> None:
    """The engine starts it, and has not completed that."""
    engine.restart_once_more(project.container_name)
    engine.containers[project.container_name].restart_count += 1
    engine.set_health(project.container_name, Health.STARTING)


@pytest.mark.parametrize("looks_between", [0, 1])
@pytest.mark.parametrize("listed", ["running", "restarting"])
@pytest.mark.parametrize("narrow", [False, True])
def test_an_agent_restarted_by_the_engine_is_starting_until_the_engine_answers(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
    looks_between: int,
    listed: str,
    narrow: bool,
) -> None:
    for each in (victim, *others):
        engine.set_health(each.container_name, Health.HEALTHY)
        later(each, health=Health.HEALTHY, agent_state="running")
        go_down(engine, each)
    listen()
    for _ in range(looks_between):
        look_at_ended(ends, narrow=narrow)
    for each in (victim, *others):
        start_again(engine, each)
        engine.containers[each.container_name].listed_as = ContainerState(listed)
    listen()
    for _ in range(3):
        assert look_at_ended(ends, narrow=narrow) == []
        assert set(statuses(api).values()) == {"starting"}
    assert not Event.objects.filter(action="crash").exists()  # the engine has not reported the restart yet
    for each in (victim, *others):
        be_down(engine, each.container_name)
        engine.set_health(each.container_name, Health.HEALTHY)
    for _ in range(2):
        assert look_at_ended(ends, narrow=narrow) == []
    assert set(statuses(api).values()) == {"running"}
    assert list(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == ["crash"] * 3
    assert set(Project.objects.values_list("crash_count", "restarts", "brought_back")) == {(1, 1, 0)}


@pytest.mark.parametrize("seconds", [0.0, STARTED_LATELY])
def test_a_start_event_counts_as_running_for_some_seconds(
    victim: Project, others: list[Project], engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None],
    api: APIClient, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:  # fmt: skip
    """After that, or if events were missed, the engine has to report its state."""
    go_down(engine, victim)
    listen()
    start_again(engine, victim)
    listen()
    if seconds:
        monkeypatch.setattr("projects.watcher.ends.run_ends.STARTED_LATELY", 0.0)
    else:
        ends.note_gap()
    assert ends.keys_of_ended() == set()
    assert len(look(changed_keys=[victim.container_key], find_end=ends.find)) == 1
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}


def test_a_container_that_the_list_shows_as_down_is_not_considered_started(
    project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], api: APIClient
) -> None:
    go_down(engine, project)
    start_again(engine, project)
    listen()
    engine.containers[project.container_name].listed_as = ContainerState.EXITED
    assert len(look_at_ended(ends)) == 1
    assert statuses(api) == {str(project.pk): "unknown"}


def test_a_known_run_keeps_its_status(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
) -> None:
    """The engine has reported the restart, and then falls silent about it."""
    for each in (victim, *others):
        engine.crash(each.container_name, exit_code=1, restarting=True)
        engine.restart_once_more(each.container_name)
        engine.set_health(each.container_name, Health.HEALTHY)
    listen()
    look_at_ended(ends)
    assert set(statuses(api).values()) == {"running"}
    engine.silence_container(victim.container_name)
    assert look_at_ended(ends) == []
    assert set(statuses(api).values()) == {"running"}
    assert set(Project.objects.values_list("crash_count", flat=True)) == {1}


def test_a_list_with_many_restarts_delays_no_round(
    victim: Project, others: list[Project], engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None],
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Finding out how each of them ended takes some calls, which the next round makes."""
    for each in (victim, *others):
        engine.set_health(each.container_name, Health.NONE)
        later(each, health=Health.NONE)
        engine.crash(each.container_name, exit_code=1, restarting=True)
        engine.restart_once_more(each.container_name)
        engine.report(each.container_name, "running")
    listen()
    with monkeypatch.context() as busy:
        be_late(busy)
        engine.calls.clear()
        assert look(find_end=ends.find) == []
        assert {verb for verb, _ in engine.calls}.isdisjoint({"inspect", "logs"})
    assert set(statuses(api).values()) == {"running"}
    assert not Event.objects.filter(action="crash").exists()
    assert look(find_end=ends.find) == []
    assert list(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == ["crash"] * 3
    assert set(Project.objects.values_list("restarts", flat=True)) == {1}
