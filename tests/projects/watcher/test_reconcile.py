"""What a round of the watcher sees and repairs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from containers.errors import EngineRefusedError
from containers.identity import own_labels
from containers.vocabulary import Health
from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later, status_of

Deploy = Callable[..., Project]


def test_a_round_over_a_healthy_fleet_changes_nothing(project: Project, engine: MemoryEngine) -> None:
    before = Project.objects.values().get()
    result = reconcile()
    assert (result.seen, result.changed, result.repaired, result.failed) == (1, 0, [], [])
    assert Project.objects.values().get() == before


def test_the_engine_s_state_is_recorded_in_the_row(project: Project, engine: MemoryEngine) -> None:
    engine.report(project.container_name, "degraded", "provider_key")
    engine.set_health(project.container_name, Health.UNHEALTHY)
    assert reconcile().changed == 1
    assert status_of(project) == "degraded"


def test_a_vanished_container_is_made_again_once_and_then_failed(project: Project, engine: MemoryEngine) -> None:
    engine.vanish(project.container_name)
    assert reconcile().repaired == [f"recreate: {project.container_name}"]
    assert status_of(project) == "running"
    engine.vanish(project.container_name)
    assert reconcile().repaired == [f"declare failed: {project.container_name}"]
    assert status_of(project) == "failed"
    assert not engine.containers


def test_a_paused_container_is_brought_back(project: Project, engine: MemoryEngine) -> None:
    engine.pause(project.container_name)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    assert status_of(project) == "running"


@pytest.mark.parametrize("suspension", ["of the project", "of its owner"])
def test_a_suspended_projects_container_is_kept_down(suspension: str, project: Project, engine: MemoryEngine) -> None:
    if suspension == "of the project":
        later(project, suspended_at=timezone.now())
    else:
        project.owner.is_active = False
        project.owner.save(update_fields=["is_active"])
    reconcile()
    assert engine.containers[project.container_name].state == "exited"
    assert status_of(project) == "suspended"
    assert reconcile().repaired == []


def test_a_container_that_never_started_is_brought_up(project: Project, engine: MemoryEngine) -> None:
    engine.containers[project.container_name].state = engine.containers[project.container_name].state.CREATED
    reconcile()
    assert status_of(project) == "running"


def test_an_orphan_is_quarantined_once_it_is_old_enough(project: Project, engine: MemoryEngine) -> None:
    young = engine.foreign("berth-young", labels={**own_labels(), "berth.project": "young"})
    old = engine.foreign("berth-old", labels={**own_labels(), "berth.project": "old"})
    stranger = engine.foreign("other-old", labels={"berth.instance": "other"})
    old.created_at = stranger.created_at = datetime.now(UTC) - timedelta(minutes=6)
    assert reconcile().repaired == ["quarantine: old"]
    assert not engine.containers.get(old.name)  # there was no state to keep
    assert {project.container_name, young.name, stranger.name} == set(engine.containers)


def test_a_failed_repair_is_reported_and_blocks_no_other(deploy: Deploy, engine: MemoryEngine) -> None:
    first, second = deploy(), deploy(telegramToken="999:another")
    engine.exit(first.container_name)
    engine.exit(second.container_name)
    engine.fail("deploy.create", EngineRefusedError("The disk is full."))
    result = reconcile()
    assert len(result.failed) == len(result.repaired) == 1
    assert {status_of(first), status_of(second)} == {"running", "failed"}


def test_a_silent_engine_changes_nothing(project: Project, engine: MemoryEngine) -> None:
    before = Project.objects.values().get()
    engine.unavailable = True
    with pytest.raises(CommandError, match="does not answer"):
        call_command("reconcile")
    assert Project.objects.values().get() == before


def test_the_command_prints_its_repairs(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name)
    out = StringIO()
    call_command("reconcile", stdout=out, no_color=True)
    assert f"bring back: {project.container_name}" in out.getvalue()
    assert "1 containers seen" in out.getvalue()
