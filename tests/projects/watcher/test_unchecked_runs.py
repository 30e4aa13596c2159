"""Agents whose images have no health check: while a list says that their runs go on, narrow rounds inspect none."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import clock
from containers.vocabulary import ContainerState, Health, Observation
from projects.models import Project
from projects.rules.status.derivation import AWAITING_POLL
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

MOMENT = timedelta(seconds=1)


@pytest.fixture
def unchecked(victim: Project, others: list[Project], engine: MemoryEngine) -> list[Project]:
    """Running agents whose images have no health check."""
    for each in (victim, *others):
        engine.containers[each.container_name].health = Health.NONE
        later(each, health=Health.NONE)
    return [victim, *others]


@pytest.fixture
def told(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[Observation]:
    """What lists said in this test."""
    found: list[Observation] = []
    observe = engine.observe

    def noted(*given: Any, **options: Any) -> list[Observation]:
        found.extend(seen := observe(*given, **options))
        return seen

    monkeypatch.setattr(engine, "observe", noted)
    return found


def inspected(told: list[Observation]) -> set[str]:
    return {each.key for each in told if not each.is_brief}


@pytest.mark.parametrize(("kind", "narrow"), [("docker", True), ("docker", False), ("swarm", True)])
def test_only_narrow_rounds_on_one_host_believe_the_list(
    kind: str, narrow: bool, unchecked: list[Project], told: list[Observation], settings: Any
) -> None:
    settings.BERTH_ENGINE = kind
    before = list(Project.objects.values())
    reconcile(narrow=narrow)
    is_believed = kind == "docker" and narrow
    assert inspected(told) == (set() if is_believed else {each.container_key for each in unchecked})
    assert list(Project.objects.values()) == before


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"state": ContainerState.EXITED, "exit_code": 3}, {"container_state": "exited", "exit_code": 3}),
        ({"state": ContainerState.PAUSED}, {"container_state": "paused"}),
        ({"container_id": "f" * 64}, {"container_id": "f" * 64}),
        ({"health": Health.STARTING}, {"health": "starting"}),
        ({"started_at": timezone.now(), "restart_count": 1, "exit_code": 3}, {"restarts": 1, "crash_count": 1}),
    ],
)
def test_a_change_in_the_list_is_recorded(change: dict[str, Any], shown: dict[str, Any], unchecked: list[Project],
    engine: MemoryEngine) -> None:  # fmt: skip
    """Also a new run of which no event was received."""
    vars(engine.containers[unchecked[0].container_name]).update(change)
    reconcile(narrow=True, repair=False)
    assert Project.objects.filter(pk=unchecked[0].pk, **shown).exists()


@pytest.mark.parametrize("row", [{"agent_state": "degraded"}, {"agent_code": "x"}, {"health": Health.STARTING}])
def test_an_agent_that_is_not_well_is_inspected(
    row: dict[str, Any], unchecked: list[Project], told: list[Observation]
) -> None:
    later(unchecked[0], **row)
    reconcile(narrow=True)
    assert inspected(told) == {unchecked[0].container_key}
    assert Project.objects.filter(agent_state="running", health=Health.NONE).count() == len(unchecked)


@pytest.mark.parametrize(("age", "is_awaited"), [(AWAITING_POLL - MOMENT, True), (AWAITING_POLL + MOMENT, False)])
def test_a_first_report_is_awaited_for_a_while(
    age: timedelta, is_awaited: bool, unchecked: list[Project], told: list[Observation], engine: MemoryEngine
) -> None:
    container = engine.containers[unchecked[0].container_name]
    container.report, container.started_at = None, clock.now() - age
    later(unchecked[0], agent_state="", started_at=container.started_at)
    reconcile(narrow=True)
    assert inspected(told) == ({unchecked[0].container_key} if is_awaited else set())


def test_an_event_causes_an_inspection(
    unchecked: list[Project], engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> None:
    engine.crash(unchecked[0].container_name, restarting=True)
    engine.restart_once_more(unchecked[0].container_name)
    engine.containers[unchecked[0].container_name].health = Health.NONE
    listen()
    reconcile(narrow=True, changed_keys=ends.keys_of_ended(), find_end=ends.find)
    assert Project.objects.get(pk=unchecked[0].pk).crash_count == 1
