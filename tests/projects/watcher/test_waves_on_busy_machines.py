"""Many agents end while a round is already late: every crash is recorded, and rounds stay short."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import inspection_choice
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import be_late, look, statuses

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def restarted(
    victim: Project, others: list[Project], engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> list[Project]:
    """The engine has restarted them, and has to be asked about each."""
    for each in (victim, *others):
        engine.crash(each.container_name, exit_code=1, restarting=True)
        engine.restart_once_more(each.container_name)
    listen()
    return [victim, *others]


@pytest.mark.parametrize("long_ago", [False, True])
def test_every_crash_is_recorded_however_late_each_inspection_is(
    long_ago: bool, restarted: list[Project], ends: RunEnds, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_late(monkeypatch)
    monkeypatch.setattr(inspection_choice, "DESCRIBED_AT_LEAST", 1)
    if long_ago:
        monkeypatch.setattr("projects.watcher.ends.run_ends.STARTED_LATELY", 0.0)
    keys = {each.container_key for each in restarted}
    for _ in range(30):
        result = reconcile(changed_keys=keys, find_end=ends.find, narrow=True)
        keys = result.put_off | ends.keys_of_ended()
        if Event.objects.filter(action="crash").count() == len(restarted):
            break
    assert list(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == ["crash"] * 3
    assert set(Project.objects.values_list("crash_count", flat=True)) == {1}


def test_a_check_inspects_few_of_the_projects_with_events(
    restarted: list[Project], engine: MemoryEngine, ends: RunEnds, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection_choice, "ASKED_AT_MOST", 1)
    engine.calls.clear()
    assert look(changed_keys=ends.keys_of_ended(), find_end=ends.find) == []
    assert len([verb for verb, _ in engine.calls if verb == "inspect"]) == 1
    assert Event.objects.filter(action="crash").count() == 1
    assert "unknown" not in statuses(api).values()


@pytest.mark.parametrize("is_late", [False, True])
def test_a_recorded_end_is_neither_delayed_nor_overwritten(
    is_late: bool,
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for each in (victim, *others):
        engine.crash(each.container_name, exit_code=1)
    listen()
    reconcile(changed_keys=ends.keys_of_ended(), find_end=ends.find, repair=False)
    told = sorted(Project.objects.values_list("pk", "container_state", "observed_at"))
    assert {state for _, state, _ in told} == {"exited"}
    if is_late:
        be_late(monkeypatch)
    else:
        monkeypatch.setattr(inspection_choice, "ASKED_AT_MOST", 0)
    result = reconcile(changed_keys=ends.keys_of_ended(), find_end=ends.find, repair=False)
    assert (result.put_off, result.passed_over) == (set(), {each.container_key for each in (victim, *others)})
    assert sorted(Project.objects.values_list("pk", "container_state", "observed_at")) == told
