"""Agents that have ended while a busy engine still lists them as running and does not answer."""

import itertools
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.vocabulary import Health
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Action, Desired
from projects.rules.status.reasons import code_of_end
from projects.services import control_project
from projects.watcher.ends.run_ends import RunEnds
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import be_late, look, look_at_ended, statuses
from tests.projects.watcher.rows import later
from tests.projects.watcher.slow_ends import be_down, go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.mark.parametrize("health", [Health.NONE, Health.STARTING, Health.HEALTHY, Health.UNHEALTHY])
@pytest.mark.parametrize("narrow", [False, True])
def test_ended_agents_are_shown_as_ended_and_never_unknown(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
    health: Health,
    narrow: bool,
) -> None:
    for each in (victim, *others):
        engine.set_health(each.container_name, health)
        later(each, health=health)
        go_down(engine, each)
    listen()
    for _ in range(3):
        assert look_at_ended(ends, narrow=narrow) == []
        assert set(statuses(api).values()) == {"restarting"}
    assert not Event.objects.filter(action="crash").exists()  # the engine has not reported yet how they ended
    for each in (victim, *others):
        be_down(engine, each.container_name)
    assert look_at_ended(ends, narrow=narrow) == []
    assert list(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == ["crash"] * 3
    assert all(engine.containers[each.container_name].is_up for each in (victim, *others))
    assert set(Project.objects.values_list("crash_count", flat=True)) == {1}


def test_a_late_round_shows_ended_agents_as_ended_too(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    be_late(monkeypatch)
    go_down(engine, victim)
    listen()
    assert look_at_ended(ends) == []
    assert statuses(api) == {str(victim.pk): "restarting", **{str(each.pk): "running" for each in others}}


def test_the_engine_must_confirm_the_end_of_an_agent_that_is_not_restarted(
    victim: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], api: APIClient
) -> None:
    """A restart has ended it, and could not start it again. It must not be shown as restarting for a minute."""
    go_down(engine, victim)
    listen()
    engine.silence_container(victim.container_name, is_silent=False)  # the list still shows it as running
    later(victim, failure_code="engine_refused", failed_at=timezone.now())
    for narrow in (True, False, True):
        assert look_at_ended(ends, narrow=narrow) == []
        assert statuses(api)[str(victim.pk)] == "failed"


def test_every_end_is_counted_once_with_its_reason(
    project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> None:
    """Every exit code, received before the engine has taken the container down, and after that."""
    ways = [*itertools.product([0, 1, 20, 30, 137, 139, 143], [False]), (137, True)]
    for (exit_code, oom), looks_before in itertools.product(ways, [0, 1, 2]):
        before = Event.objects.filter(action="crash").count()
        go_down(engine, project, exit_code=exit_code, oom=oom)
        listen()
        for _ in range(looks_before):
            look_at_ended(ends)
        be_down(engine, project.container_name)
        for _ in range(3):
            look_at_ended(ends)
        told = Event.objects.filter(action="crash").order_by("pk")[before:]
        expected = code_of_end(exit_code, agent_code="", oom_killed=oom)
        assert [each.outcome for each in told] == [expected], (exit_code, oom, looks_before)
        control_project(project=Project.objects.get(), action=Action.START, actor=SYSTEM)
        listen()


def test_without_events_nothing_is_known_about_ended_agents(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
) -> None:
    go_down(engine, victim)
    listen()
    ends.note_gap()
    assert len(look(changed_keys=[victim.container_key], find_end=ends.find)) == 1
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}


@pytest.mark.parametrize(
    "held", [{"desired": Desired.STOPPED}, {"suspended_at": timezone.now()}, {"gave_up_at": timezone.now()}], ids=str
)
def test_the_engine_must_confirm_the_end_of_an_agent_that_should_not_run(
    victim: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], held: dict[str, object]
) -> None:
    go_down(engine, victim)
    listen()
    later(victim, **held)
    assert len(look_at_ended(ends)) == 1
    be_down(engine, victim.container_name)
    later(victim, reconcile_again_at=None)
    assert look_at_ended(ends) == []
    assert not Event.objects.filter(action="crash").exists()


def test_a_kill_is_not_explained_before_the_kernel_could_report_an_oom(
    project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], api: APIClient
) -> None:
    for tells, expected in ((True, "out_of_memory"), (False, "killed")):
        Event.objects.all().delete()
        engine.crash(project.container_name, exit_code=137)
        listen()
        look_at_ended(ends)
        assert not Event.objects.filter(action="crash").exists()
        assert statuses(api) == {str(project.pk): "restarting"}
        if tells:
            engine.tell_of_memory(project.container_name)
            listen()
        # The row is a minute old in the next round.
        look_at_ended(ends)
        assert list(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == [expected]
        look_at_ended(ends)
        listen()


def test_ends_beyond_the_time_of_a_round_are_recorded_by_the_next(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for each in (victim, *others):
        engine.crash(each.container_name, exit_code=1)
    listen()
    with monkeypatch.context() as busy:
        be_late(busy)
        assert look_at_ended(ends) == []
    assert set(statuses(api).values()) == {"restarting"}
    assert not Event.objects.filter(action="crash").exists()
    assert look_at_ended(ends) == []
    assert Event.objects.filter(action="crash").count() == 3


def test_a_container_that_runs_again_is_running_in_spite_of_earlier_events(
    project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], api: APIClient
) -> None:
    """The start is in the list before its event arrives."""
    engine.crash(project.container_name, exit_code=1, restarting=True)
    listen()
    look_at_ended(ends)
    assert statuses(api) == {str(project.pk): "restarting"}
    engine.restart_once_more(project.container_name)
    engine.set_health(project.container_name, Health.HEALTHY)
    later(project, observed_at=timezone.now() - timedelta(minutes=1))
    look_at_ended(ends)
    listen()
    look_at_ended(ends)
    assert statuses(api) == {str(project.pk): "running"}
    assert Project.objects.get().crash_count == 1
