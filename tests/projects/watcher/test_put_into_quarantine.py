"""Agents without a row go into quarantine and are never deleted automatically."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from containers.vocabulary import QUARANTINE_LABEL, ContainerState
from projects.models import Event, Project, Quarantined
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.other_databases import grow_old, lose_row, photograph


def test_containers_known_from_events_are_quarantined(project: Project, engine: MemoryEngine) -> None:
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


def test_a_quarantined_agent_is_never_deleted_automatically(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    Quarantined.objects.update(since=timezone.now() - timedelta(days=400))
    before = photograph(engine)
    for _ in range(3):
        assert reconcile().repaired == []
    assert photograph(engine) == before
    assert Quarantined.objects.count() == 1


def test_a_quarantined_agent_started_by_hand_is_stopped_again(project: Project, engine: MemoryEngine) -> None:
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


def test_an_entry_is_removed_when_the_engine_has_nothing_of_it(project: Project, engine: MemoryEngine) -> None:
    lose_row()
    grow_old(engine)
    reconcile()
    engine.vanish(project.container_name)
    engine.volumes.clear()
    reconcile()
    assert not Quarantined.objects.exists()


def test_remains_of_a_late_deploy_of_a_deleted_project_are_removed(
    project: Project, engine: MemoryEngine, api: Any
) -> None:
    """Its owner has deleted it."""
    left = dict(engine.containers), set(engine.volumes)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    engine.containers, engine.volumes = left
    grow_old(engine)
    assert reconcile().repaired == [f"remove the rest: {project.pk}"]
    assert photograph(engine) == ({}, set())
