"""What happens when the watcher and an owner act at once, step by step. They meet in the hooks of the engine."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from containers.identity import own_labels
from projects.models import Event, Project
from projects.watcher.reconcile import inspection
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import generation, once

Act = Callable[[], object]


def after_list(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, act: Act) -> None:
    """Acts once, when the engine has made its list and before anyone has read it."""
    observe = engine.observe

    def slow_answer(within: Any, **options: Any) -> Any:
        found = observe(within, **options)
        monkeypatch.undo()
        act()
        return found

    monkeypatch.setattr(engine, "observe", slow_answer)


def test_a_list_from_before_a_restart_does_not_undo_it(
    project: Project, engine: MemoryEngine, control: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.exit(project.container_name)
    after_list(engine, monkeypatch, lambda: control("start"))
    result = reconcile()
    assert (result.changed, result.repaired) == (0, [])
    row = Project.objects.get()
    assert (row.container_state, row.crash_count) == ("running", 0)
    assert generation(engine, project) == row.generation


def test_the_watcher_does_not_restart_an_agent_being_stopped(
    project: Project, engine: MemoryEngine, control: Any
) -> None:
    engine.exit(project.container_name)
    reconcile(repair=False)
    once(engine, "inspect", lambda: control("stop"))
    assert reconcile(changed_keys={project.container_key}).repaired == []
    assert not engine.containers[project.container_name].is_up


def test_the_watcher_does_not_stop_an_agent_being_started(project: Project, engine: MemoryEngine, control: Any) -> None:
    Project.objects.update(desired="stopped")
    once(engine, "inspect", lambda: control("start"))
    assert reconcile(changed_keys={project.container_key}).repaired == []
    assert engine.containers[project.container_name].is_up


def test_a_project_deleted_during_a_round_does_not_end_the_round(
    project: Project, engine: MemoryEngine, api: APIClient, deploy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "WORTH_THREADS", 3)  # other threads do not see what this test has not committed
    other = deploy(telegramToken="999:another")
    for each in (project, other):
        engine.exit(each.container_name)
    once(engine, "inspect", lambda: api.delete(f"/api/projects/{other.id}"))
    keys = {project.container_key, other.container_key}
    assert reconcile(changed_keys=keys).repaired == [f"bring back: {project.container_name}"]


def test_an_owner_s_simultaneous_command_is_no_failure_of_the_watcher(
    project: Project, engine: MemoryEngine, control: Any
) -> None:
    engine.exit(project.container_name)
    once(engine, "deploy.confirm", lambda: control("stop"))
    result = reconcile()
    assert (result.repaired, result.failed) == ([], [])
    assert not Event.objects.filter(outcome="failed").exists()


def test_an_orphan_that_cannot_be_removed_blocks_no_other_repair(project: Project, engine: MemoryEngine) -> None:
    for name in ("one", "two"):
        orphan = engine.foreign(name, labels={**own_labels(), "berth.project": name})
        orphan.created_at = datetime.now(UTC) - timedelta(minutes=6)
    engine.fail("quarantine", EngineRefusedError("The device is busy."))
    result = reconcile()
    assert len(result.failed) == len(result.repaired) == 1


def test_volumes_of_a_deleted_project_are_removed_once_they_are_old_enough(
    project: Project, engine: MemoryEngine
) -> None:
    """A deploy lost to a deletion, and was killed after it had removed its container."""
    gone = uuid4()
    Event.objects.create(project_id=gone, owner_id=gone, actor="Alice", source="key", action="delete", outcome="done")
    theirs = set(engine.volumes)
    engine.volumes |= {"berth-gone-data", "berth-gone-secrets", "other-data"}
    for name in ("berth-gone-data", "berth-gone-secrets"):
        engine.volume_labels[name] = {**own_labels(), "berth.project": str(gone)}
    assert reconcile().repaired == []
    engine.volumes_since = datetime.now(UTC) - timedelta(minutes=6)
    assert reconcile(include_volumes=False).repaired == []
    assert reconcile().repaired == [f"remove the rest: {gone}"]
    assert engine.volumes == theirs | {"other-data"}
