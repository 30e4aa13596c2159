"""A start with another database destroys nothing: every verb of the watcher x every way not to belong together."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from containers.vocabulary import QUARANTINE_LABEL, ContainerState
from projects.models import Event, Installation, Project, Quarantined
from projects.rules.remedies import Remedy
from projects.watcher.reconcile import reconcile
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


@pytest.mark.parametrize("situation", WITH_ROW)
@pytest.mark.parametrize("verb", VERBS)
def test_a_database_that_knows_less_than_the_engine_mends_nothing(
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


@pytest.mark.parametrize("situation", WITHOUT_ROW)
@pytest.mark.parametrize("state", [ContainerState.RUNNING, ContainerState.EXITED, None])
def test_what_no_row_and_no_event_speaks_of_is_left_alone(
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
def test_a_row_adopts_its_container_of_the_time_before_ids(verb: str, project: Project, engine: MemoryEngine) -> None:
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


def test_the_id_is_taken_on_at_the_next_deploy(project: Project, engine: MemoryEngine, api: Any) -> None:
    of_the_time_before_ids(engine)
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200
    [container] = engine.containers.values()
    assert container.labels["berth.installation"]
    assert (reconcile().held, api.get(f"/api/projects/{project.pk}").json()["status"]) == ("", "running")


def test_a_missing_container_does_not_bring_back_one_of_another_installation(
    project: Project, engine: MemoryEngine, api: Any
) -> None:
    """Nor does its owner, who would get an agent without memory beside the first."""
    another_installations(engine)
    before = photograph(engine)
    for action in ("start", "restart"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": action}).status_code >= 409
    assert photograph(engine) == before


# -- quarantine -------------------------------------------------------------------------------------------------------


def test_what_the_events_tell_of_is_put_into_quarantine(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    assert reconcile().repaired == []  # it is young: its row may have come a moment later
    grow_old(engine)
    assert reconcile().repaired == [f"quarantine: {project.pk}"]
    [container] = engine.containers.values()
    assert not container.is_up
    assert container.labels[QUARANTINE_LABEL]
    assert engine.volumes == {f"{project.container_name}-data"}
    entry = Quarantined.objects.get()
    assert (entry.key, entry.owner_key) == (str(project.pk), str(project.owner_id))
    assert Event.objects.filter(project_id=project.pk, action="quarantine").count() == 1
    before = photograph(engine)
    grow_old(engine)
    for _ in range(3):
        assert reconcile().repaired == []
    assert photograph(engine) == before


def test_it_is_never_deleted_by_itself(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    Quarantined.objects.update(since=NOW() - timedelta(days=400))
    before = photograph(engine)
    for _ in range(3):
        assert reconcile().repaired == []
    assert photograph(engine) == before
    assert Quarantined.objects.count() == 1


def test_who_starts_it_by_hand_finds_it_stopped_again(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    [container] = engine.containers.values()
    container.state = ContainerState.RUNNING
    grow_old(engine)
    reconcile()
    assert not container.is_up


def test_an_older_backup_without_the_entry_lists_it_again(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    Quarantined.objects.all().delete()
    Event.objects.all()._raw_delete("default")
    grow_old(engine)
    assert reconcile().held == ""
    assert Quarantined.objects.get().key == str(project.pk)


def test_a_volume_without_its_container_is_listed_and_its_credentials_go(
    project: Project, engine: MemoryEngine
) -> None:
    lose_row()
    engine.vanish(project.container_name)
    grow_old(engine)
    assert reconcile(include_volumes=False).repaired == []
    assert reconcile().repaired == [f"quarantine: {project.pk}"]
    assert engine.volumes == {f"{project.container_name}-data"}
    assert Quarantined.objects.count() == 1
    assert reconcile().repaired == []


def test_an_entry_goes_when_the_engine_has_nothing_of_it_any_more(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    engine.vanish(project.container_name)
    engine.volumes.clear()
    reconcile()
    assert not Quarantined.objects.exists()


def test_what_a_late_deploy_left_of_a_deleted_project_is_removed(
    project: Project, engine: MemoryEngine, api: Any
) -> None:
    """Its owner has said so."""
    left = dict(engine.containers), set(engine.volumes)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    engine.containers, engine.volumes = left
    grow_old(engine)
    assert reconcile().repaired == [f"remove the rest: {project.pk}"]
    assert photograph(engine) == ({}, set())


def test_it_is_said_once_in_the_log_and_taken_back(
    project: Project, engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    of_later_deploys(engine)
    for _ in range(3):
        reconcile()
    assert [record.levelname for record in caplog.records if "manage.py adopt" in record.getMessage()] == ["ERROR"]
    label(engine, generation="1")
    reconcile()
    assert Installation.objects.get().held_because == ""
