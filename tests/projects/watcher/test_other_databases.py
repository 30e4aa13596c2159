"""A start with a wrong database destroys nothing: every action of the watcher x every kind of mismatch."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from containers.vocabulary import ContainerState
from projects.models import Installation, Project, Quarantined
from projects.rules.status.remedies import Remedy
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.other_databases import (
    Stage,
    another_installations,
    another_instances,
    as_it_is,
    grow_old,
    label,
    lose_everything,
    lose_row,
    of_later_deploys,
    of_the_time_before_ids,
    photograph,
)

NOW = timezone.now


def row(**fields: Any) -> Callable[[MemoryEngine, Project], object]:
    return lambda engine, project: Project.objects.update(**fields)


def crashed(engine: MemoryEngine, project: Project) -> None:
    engine.exit(project.container_name, 1)


def paused(engine: MemoryEngine, project: Project) -> None:
    engine.pause(project.container_name)


def crash_loop(engine: MemoryEngine, project: Project) -> None:
    engine.crash(project.container_name, exit_code=20, restarting=True)


VERBS: dict[str, Callable[[MemoryEngine, Project], object]] = {
    "nothing": row(),
    Remedy.FINISH_DELETION: row(desired="deleted"),
    Remedy.TAKE_DOWN: row(desired="stopped"),
    "take down what is suspended": row(suspended_at=NOW()),
    Remedy.GIVE_UP: crash_loop,
    Remedy.BRING_BACK: crashed,
    "bring back what is paused": paused,
    Remedy.REALIGN: lambda engine, project: engine.drift(project.container_name),
    Remedy.RECREATE: row(container_state="", container_id=""),
    Remedy.DECLARE_FAILED: row(recreated_at=NOW() + timedelta(minutes=1)),
    "take over an operation": lambda engine, project: Project.objects.update(
        operation="restart", operation_id=project.pk, operation_deadline=NOW() - timedelta(minutes=1)
    ),
}


WITH_ROW: dict[str, Stage] = {
    "the id of another installation": another_installations,
    "a later deploy than the row's": of_later_deploys,
}


WITHOUT_ROW: dict[str, tuple[Stage, Callable[[], None]]] = {
    "the id of another installation": (another_installations, lose_everything),
    "the id of another installation, and events": (another_installations, lose_row),
    "no id": (of_the_time_before_ids, lose_everything),
    "no id, and events": (of_the_time_before_ids, lose_row),
    "another instance": (another_instances, lose_everything),
    "our id, of a project that was never heard of": (as_it_is, lose_everything),
}


@pytest.mark.one_database
@pytest.mark.parametrize("situation", WITH_ROW)
@pytest.mark.parametrize("verb", VERBS)
def test_a_database_older_than_the_engine_repairs_nothing(
    verb: str, situation: str, project: Project, engine: MemoryEngine
) -> None:
    VERBS[verb](engine, project)
    WITH_ROW[situation](engine)
    grow_old(engine)
    before = photograph(engine)
    for _ in range(3):
        result = reconcile()
        assert (result.repaired, result.failed) == ([], [])
        assert "manage.py adopt" in result.held
    assert photograph(engine) == before
    assert Installation.objects.get().held_because == result.held
    assert Project.objects.exists()


@pytest.mark.one_database
@pytest.mark.parametrize("situation", WITHOUT_ROW)
@pytest.mark.parametrize("state", [ContainerState.RUNNING, ContainerState.EXITED, None])
def test_containers_without_a_row_or_an_event_are_left_alone(
    state: ContainerState | None, situation: str, project: Project, engine: MemoryEngine
) -> None:
    if state is ContainerState.EXITED:
        engine.exit(project.container_name)
    relabel, lose = WITHOUT_ROW[situation]
    relabel(engine)
    lose()
    grow_old(engine)
    before = photograph(engine)
    for _ in range(3):
        assert reconcile().repaired == []
    assert photograph(engine) == before


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in {Remedy.RECREATE, Remedy.DECLARE_FAILED}])
def test_a_row_adopts_its_container_from_before_ids(verb: str, project: Project, engine: MemoryEngine) -> None:
    """The remedy is the same as for a container with the id. The next deploy gives it the id."""
    VERBS[verb](engine, project)
    expected = reconcile(repair=False).held
    of_the_time_before_ids(engine)
    grow_old(engine)
    result = reconcile()
    assert (result.held, expected, result.failed) == ("", "", [])
    assert result.repaired or verb in {"nothing", "take over an operation"}
    assert not Quarantined.objects.exists()
    if verb == Remedy.FINISH_DELETION:
        assert photograph(engine) == ({}, set())


def test_the_id_is_adopted_at_the_next_deploy(project: Project, engine: MemoryEngine, api: Any) -> None:
    of_the_time_before_ids(engine)
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200
    [container] = engine.containers.values()
    assert container.labels["berth.installation"]
    assert (reconcile().held, api.get(f"/api/projects/{project.pk}").json()["status"]) == ("", "running")


def test_a_missing_container_does_not_bring_back_one_of_another_installation(
    project: Project, engine: MemoryEngine, api: Any
) -> None:
    """Neither does its owner, who would get a second agent without memory."""
    another_installations(engine)
    before = photograph(engine)
    for action in ("start", "restart"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": action}).status_code >= 409
    assert photograph(engine) == before


def test_the_conflict_is_logged_once_and_cleared(
    project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    of_later_deploys(engine)
    for _ in range(3):
        reconcile()
    assert [record.levelname for record in caplog.records if "manage.py adopt" in record.getMessage()] == ["ERROR"]
    label(engine, generation="1")
    reconcile()
    assert Installation.objects.get().held_because == ""
