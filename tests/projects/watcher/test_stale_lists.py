"""Wrong lists of an engine that cannot save changes of containers."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from containers.errors import ContainerSilentError, EngineUnavailableError
from containers.vocabulary import ContainerState, Health
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Action
from projects.services import control_project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import spot_checks
from projects.watcher.reconcile.spot_checks import SpotChecks
from tests.fakes.engine import MemoryEngine
from tests.projects.hidden_changes import CHANGES
from tests.projects.watcher.looking import look, statuses

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def asked() -> list[str]:
    """The keys that the watcher is told to look at."""
    return []


@pytest.fixture
def looks(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> SpotChecks:
    """All are due at each step."""
    monkeypatch.setattr(spot_checks, "ALL_WITHIN", 0.0)
    monkeypatch.setattr(spot_checks, "EVERY", 0.0)
    return SpotChecks(asked.append)


@pytest.mark.parametrize(("change", "narrow"), [(change, number % 2 == 1) for number, change in enumerate(CHANGES)])
def test_a_change_missing_from_the_list_is_found_by_inspection(
    change: str, victim: Project, others: list[Project], engine: MemoryEngine, looks: SpotChecks, api: APIClient,
    asked: list[str], narrow: bool
) -> None:  # fmt: skip
    def tell() -> tuple[str, list[str], set[str], list[str]]:
        """Returns the status, the system's events, what runs, and the failures, after two rounds and a repair."""
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


def test_the_inspection_counts_while_the_list_is_stale(
    victim: Project, engine: MemoryEngine, looks: SpotChecks, api: APIClient
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
    victim: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], looks: SpotChecks
) -> None:
    """Its event came. A container that the list still shows as running would count as not taken down yet."""
    look(correct=looks.correct)
    engine.fill_disk()
    engine.crash(victim.container_name, exit_code=1)
    listen()
    looks.step()
    look(correct=looks.correct, changed_keys=ends.keys_of_ended(), find_end=ends.find)
    assert engine.containers[victim.container_name].state is ContainerState.RUNNING


def test_a_container_that_cannot_be_inspected_keeps_its_state_and_delays_nobody(
    victim: Project, others: list[Project], engine: MemoryEngine, looks: SpotChecks, asked: list[str]
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
    for error, times in ((EngineUnavailableError, 1), (ContainerSilentError, spot_checks.MOST_SILENT)):
        looks = SpotChecks(asked.append)
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
