"""What a round of the watcher sees and mends."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from containers.engine import EngineRefusedError, Health
from projects.models import Event, Project
from projects.watcher.reconcile import reconcile
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine

Deploy = Callable[..., Project]


def status_of(project: Project) -> str:
    return Project.objects.select_related("owner").get(pk=project.pk).status


def later(project: Project, **fields: object) -> None:
    Project.objects.filter(pk=project.pk).update(**fields)


def test_a_round_over_a_healthy_fleet_changes_nothing(project: Project, engine: MemoryEngine) -> None:
    before = Project.objects.values().get()
    result = reconcile()
    assert (result.seen, result.changed, result.repaired, result.failed) == (1, 0, [], [])
    assert Project.objects.values().get() == before


def test_what_the_engine_says_goes_into_the_row(project: Project, engine: MemoryEngine) -> None:
    engine.report(project.container_name, "degraded", "provider_key")
    engine.set_health(project.container_name, Health.UNHEALTHY)
    assert reconcile().changed == 1
    assert status_of(project) == "degraded"


@pytest.mark.parametrize("exit_code", [20, 21, 30, 31, 32, 40])
def test_an_exit_that_no_restart_mends_is_given_up_at_once(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    engine.crash(project.container_name, exit_code=exit_code, restarting=True)
    reconcile()
    assert engine.containers[project.container_name].state == "exited"
    assert status_of(project) == "crashed"
    assert reconcile().repaired == []


def test_a_crash_is_left_to_the_engine_until_it_is_the_fifth(project: Project, engine: MemoryEngine) -> None:
    for _ in range(4):
        engine.crash(project.container_name, exit_code=1, restarting=True)
        assert reconcile().repaired == []
        assert status_of(project) == "restarting"
    engine.crash(project.container_name, exit_code=1, restarting=True)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    project.refresh_from_db()
    assert status_of(project) == "crashed"
    assert "It ended 5 times within 10 minutes." in (project.reason.message if project.reason else "")


def test_crashes_further_apart_are_not_a_loop(project: Project, engine: MemoryEngine) -> None:
    for _ in range(8):
        engine.crash(project.container_name, exit_code=1, restarting=True)
        assert reconcile().repaired == []
        later(project, crashes_since=timezone.now() - timedelta(minutes=11))


def test_the_end_of_the_log_is_kept_without_credentials(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    for number in range(30):
        engine.log(project.container_name, f"line {number} {CANARY_API_KEY}")
    engine.crash(project.container_name, exit_code=1, restarting=True)
    reconcile()
    detail = api.get(f"/api/projects/{project.id}").json()
    tail = detail["status_reason"]["log_tail"]
    assert len(tail) == 20
    assert tail[-1].endswith("line 29 [redacted]")


@pytest.mark.parametrize("exit_code", [0, 137, 143])
def test_a_container_stopped_behind_our_back_is_brought_back(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    engine.exit(project.container_name, exit_code)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    assert status_of(project) == "running"
    assert Project.objects.get().crash_count == 1


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


def test_a_stop_recorded_while_the_engine_was_down_is_carried_out(project: Project, engine: MemoryEngine) -> None:
    later(project, desired="stopped")
    reconcile()
    assert engine.containers[project.container_name].state == "exited"
    assert status_of(project) == "stopped"


def test_a_deletion_begun_is_finished(project: Project, engine: MemoryEngine) -> None:
    later(project, desired="deleted")
    reconcile()
    assert not engine.containers
    assert not engine.volumes
    assert not Project.objects.exists()


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


def test_an_operation_in_flight_is_left_alone(project: Project, engine: MemoryEngine) -> None:
    deadline = timezone.now() + timedelta(seconds=30)
    later(project, operation="restart", operation_id=project.id, operation_deadline=deadline)
    engine.vanish(project.container_name)
    assert reconcile().repaired == []
    assert status_of(project) == "restarting"


@pytest.mark.parametrize("operation", ["deploy", "start", "restart"])
def test_an_expired_operation_is_completed(operation: str, project: Project, engine: MemoryEngine) -> None:
    """The server was killed after the claim: the container, if any, is of the generation before."""
    expired = timezone.now() - timedelta(seconds=1)
    later(
        project,
        operation=operation,
        operation_id=project.id,
        operation_deadline=expired,
        generation=project.generation + 1,
    )
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    project.refresh_from_db()
    assert (project.operation, status_of(project)) == ("", "running")
    assert engine.containers[project.container_name].observation.generation == project.generation


def test_an_expired_stop_is_completed(project: Project, engine: MemoryEngine) -> None:
    expired = timezone.now() - timedelta(seconds=1)
    later(project, desired="stopped", operation="stop", operation_id=project.id, operation_deadline=expired)
    reconcile()
    assert status_of(project) == "stopped"
    assert Project.objects.get().operation == ""


def test_an_expired_stop_of_what_is_down_already_is_cleared(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name)
    expired = timezone.now() - timedelta(seconds=1)
    later(project, desired="stopped", operation="stop", operation_id=project.id, operation_deadline=expired)
    reconcile()
    assert status_of(project) == "stopped"
    assert Project.objects.get().operation == ""


def test_a_container_that_never_started_is_brought_up(project: Project, engine: MemoryEngine) -> None:
    engine.containers[project.container_name].state = engine.containers[project.container_name].state.CREATED
    reconcile()
    assert status_of(project) == "running"


def test_an_orphan_is_removed_once_it_is_old_enough(project: Project, engine: MemoryEngine) -> None:
    young = engine.foreign("berth-young", labels={"berth.instance": "berth"})
    old = engine.foreign("berth-old", labels={"berth.instance": "berth"})
    stranger = engine.foreign("other-old", labels={"berth.instance": "other"})
    old.created_at = stranger.created_at = datetime.now(UTC) - timedelta(minutes=6)
    assert reconcile().repaired == ["remove orphan: berth-old"]
    assert set(engine.containers) == {project.container_name, young.name, stranger.name}


def test_what_cannot_be_mended_is_reported_and_does_not_keep_the_rest_from_it(
    deploy: Deploy, engine: MemoryEngine
) -> None:
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


def test_the_command_prints_what_it_mended(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name)
    out = StringIO()
    call_command("reconcile", stdout=out, no_color=True)
    assert f"bring back: {project.container_name}" in out.getvalue()
    assert "1 containers seen" in out.getvalue()


def test_crash_and_remedy_are_in_the_events(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name, 1)
    reconcile()
    events = Event.objects.filter(actor="system").values_list("action", "outcome")
    assert set(events) == {("crash", "crash"), ("bring back", "done")}
