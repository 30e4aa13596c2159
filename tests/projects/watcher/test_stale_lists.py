"""What the engine's list goes on to say of containers that have changed, while the engine cannot write that down."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import ContainerSilentError, EngineUnavailableError
from containers.vocabulary import ContainerState, Health
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.lifecycle import Action
from projects.services import control_project
from projects.watcher import listener, second_looks, watcher
from projects.watcher.ends import Ends
from projects.watcher.second_looks import SecondLooks
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import look, statuses
from tests.projects.watcher.rows import later
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def asked() -> list[str]:
    """The keys that the watcher is asked to look at."""
    return []


@pytest.fixture
def looks(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> SecondLooks:
    """All are due at each step."""
    monkeypatch.setattr(second_looks, "ALL_WITHIN", 0.0)
    monkeypatch.setattr(second_looks, "EVERY", 0.0)
    return SecondLooks(asked.append)


Change = Callable[[MemoryEngine, str], None]

CHANGES: dict[str, Change] = {
    "crashed": lambda engine, name: engine.crash(name),
    "ended": lambda engine, name: engine.exit(name),
    "ran out of memory": lambda engine, name: engine.crash(name, exit_code=137, oom=True),
    "removed": lambda engine, name: engine.vanish(name),
    "paused": lambda engine, name: engine.pause(name),
    "restarting": lambda engine, name: engine.crash(name, restarting=True),
    "unhealthy": lambda engine, name: engine.set_health(name, Health.UNHEALTHY),
    "starting": lambda engine, name: engine.set_health(name, Health.STARTING),
    "died": lambda engine, name: engine.crash(name, exit_code=20),
    "drifted": lambda engine, name: engine.drift(name),
}
"""What may become of an agent without an event that Berth hears."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("narrow", [False, True])
def test_what_the_list_hides_is_told_after_a_second_look_as_if_the_list_had_told_it(
    change: str, victim: Project, others: list[Project], engine: MemoryEngine, looks: SecondLooks, api: APIClient,
    asked: list[str], narrow: bool
) -> None:  # fmt: skip
    def tell() -> tuple[str, list[str], set[str], list[str]]:
        """The status, the events of the system, what runs, and what failed, after two looks and a repair."""
        failed = [*look(narrow=narrow, correct=looks.correct), *look(narrow=narrow, correct=looks.correct)]
        events = list(Event.objects.filter(project_id=victim.pk, actor=SYSTEM).values_list("action", flat=True))
        return (
            statuses(api)[str(victim.pk)],
            events,
            {name for name, each in engine.containers.items() if each.is_up},
            failed,
        )

    look(narrow=narrow, correct=looks.correct)
    engine.fill_disk()
    CHANGES[change](engine, victim.container_name)
    believed = look(narrow=narrow, correct=looks.correct)
    assert (believed, statuses(api)[str(victim.pk)]) == ([], "running")  # the list says so, and nobody has asked
    looks.step()
    assert asked == [victim.container_key]
    hidden = tell()
    assert {statuses(api)[str(each.pk)] for each in others} == {"running"}
    engine.free_disk()
    assert hidden == tell()


def test_it_is_told_for_as_long_as_the_list_lies(
    victim: Project, engine: MemoryEngine, looks: SecondLooks, api: APIClient
) -> None:
    look(correct=looks.correct)
    engine.fill_disk()
    engine.crash(victim.container_name, exit_code=20)
    for _ in range(5):
        looks.step()
        assert look(correct=looks.correct) == []
    assert statuses(api) == {str(victim.pk): "crashed"}
    control_project(project=Project.objects.get(), action=Action.START, actor=SYSTEM)
    engine.containers[victim.container_name].written = None
    look(correct=looks.correct)
    assert statuses(api) == {str(victim.pk): "running"}
    calls = engine.calls.count(("inspect", victim.container_key))
    looks.step()
    look(correct=looks.correct)
    assert engine.calls.count(("inspect", victim.container_key)) == calls


def test_a_list_that_hides_an_end_does_not_keep_it_from_being_repaired(
    victim: Project, engine: MemoryEngine, ends: Ends, listen: Callable[[], None], looks: SecondLooks
) -> None:
    """Its event came. What a list goes on to call running would count as not yet done with by the engine."""
    look(correct=looks.correct)
    engine.fill_disk()
    engine.crash(victim.container_name, exit_code=1)
    listen()
    looks.step()
    look(correct=looks.correct, changed_keys=ends.keys_of_ended(), find_end=ends.find)
    assert engine.containers[victim.container_name].state is ContainerState.RUNNING


def test_one_that_does_not_answer_is_neither_doubted_nor_in_the_way(
    victim: Project, others: list[Project], engine: MemoryEngine, looks: SecondLooks, asked: list[str]
) -> None:
    look(correct=looks.correct)
    engine.fill_disk()
    engine.silence_container(victim.container_name)
    engine.crash(others[0].container_name)
    looks.step()
    assert asked == [others[0].container_key]


def test_an_engine_that_answers_nobody_is_asked_again_about_all(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    asked: list[str] = []
    for error, times in ((EngineUnavailableError, 1), (ContainerSilentError, second_looks.MOST_SILENT)):
        looks = SecondLooks(asked.append)
        look(correct=looks.correct)
        engine.fail("look_up", error, times=times)
        engine.calls.clear()
        looks.step()
        assert len([verb for verb, _ in engine.calls if verb == "look_up"]) == times
        engine.fill_disk()
        engine.crash(victim.container_name)
        looks.doubt_all()
        looks.step()
        assert asked == [victim.container_key]
        asked.clear()
        engine.free_disk()
        engine.restart_once_more(victim.container_name)
        engine.set_health(victim.container_name, Health.HEALTHY)


def test_each_is_asked_about_once_a_minute_and_no_more_often(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rounds there are. `monotonic` is the test's."""
    now = [1000.0]
    monkeypatch.setattr("projects.watcher.second_looks.time.monotonic", lambda: now[0])
    looks = SecondLooks(lambda _: None)
    engine.calls.clear()
    counts = []
    for _ in range(5):
        until = now[0] + second_looks.ALL_WITHIN
        while now[0] < until:
            look(correct=looks.correct)
            looks.step()
            now[0] += 5 * second_looks.EVERY
        counts.append(sum(verb == "look_up" for verb, _ in engine.calls))
    assert 3 * 5 <= counts[-1] <= 3 * 11
    assert all(later - earlier >= 3 for earlier, later in pairwise(counts))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["the stream of events ends", "the engine is away"])
def test_after_lost_events_the_watcher_asks_about_all(
    way: str, victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not only within a minute, which no wait of this test would last."""
    monkeypatch.setattr(second_looks, "ALL_WITHIN", 3600.0)
    monkeypatch.setattr(second_looks, "EVERY", 0.05)
    monkeypatch.setattr(watcher, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(listener, "SILENCE", 0.1)
    monkeypatch.setattr(listener, "AGAIN", 0.05)
    with watchers_in_threads() as start:
        started = start()
        wait_until(lambda: any(verb == "look_up" for verb, _ in engine.calls), within=60)
        engine.fill_disk()
        monkeypatch.setattr(started._listener, "_hear", lambda _: None)
        engine.crash(victim.container_name, exit_code=20)
        if way == "the engine is away":
            engine.unavailable = True
            seen = engine.calls.count(("observe", ""))
            wait_until(lambda: engine.calls.count(("observe", "")) > seen + 1, within=60)
            engine.unavailable = False
        else:
            engine.fail("events", EngineUnavailableError)
        wait_until(lambda: Project.objects.get().status == "crashed", within=60)


def test_the_command_that_looks_at_every_container_believes_no_list(victim: Project, engine: MemoryEngine) -> None:
    engine.fill_disk()
    engine.crash(victim.container_name)
    later(victim, observed_at=timezone.now() - timedelta(minutes=1))
    call_command("reconcile", stdout=StringIO())
    assert engine.containers[victim.container_name].is_up
    assert Event.objects.filter(action="crash", project_id=victim.pk).exists()
