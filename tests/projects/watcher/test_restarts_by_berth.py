"""Agents that the engine does not restart, because nothing closes their network until the rules are set.

The watcher restarts them, by the same rules by which it lets an engine with a restart policy continue.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import FirewallMissingError
from projects.models import Event, Project, Watch
from projects.rules.status.lifecycle import LEASE
from projects.watcher.leader import become_leader, step_down
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.watcher.rows import later, status_of


def crash_events() -> int:
    return Event.objects.filter(action="crash").count()


@pytest.mark.parametrize("exit_code", [0, 1, 75, 137, 143])
def test_an_agent_that_ends_is_brought_back_four_times_and_then_given_up(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    for count in range(1, 5):
        engine.exit(project.container_name, exit_code)
        assert reconcile().repaired == [f"bring back: {project.container_name}"]
        project.refresh_from_db()
        assert (status_of(project), project.crash_count, project.restart_count) == ("running", count, count)
    engine.exit(project.container_name, exit_code)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    assert status_of(project) == "crashed"
    assert reconcile().repaired == []
    assert crash_events() == 5


@pytest.mark.parametrize("exit_code", [0, 1, 75, 137])
def test_an_agent_that_ends_before_its_start_was_observed_is_restarted_too(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    """Otherwise it would be started forever, because it is never seen running."""
    engine.dies_at_start[project.container_name] = exit_code
    engine.exit(project.container_name, exit_code)
    done = []
    for _ in range(7):
        done.append(reconcile().repaired)
        # The engine calls an ended container unhealthy, which would be shown as degraded.
        assert status_of(project) in {"starting", "restarting", "crashed"}
    assert done == [[f"bring back: {project.container_name}"]] * 4 + [[f"give up: {project.container_name}"], [], []]
    assert crash_events() == 5


def test_a_new_agent_that_ends_is_restarted_too(
    deploy: Callable[..., Project], engine: MemoryEngine, api: APIClient
) -> None:
    start = engine._start

    def start_and_die(container: MemoryContainer) -> None:
        start(container)
        engine.exit(container.name, 1)

    engine._start = start_and_die  # type: ignore[method-assign]  # the real one takes its place again below
    try:
        project = deploy(telegramToken="77:new")
        rounds = [reconcile().repaired for _ in range(6)]
    finally:
        engine._start = start  # type: ignore[method-assign]  # it was that before
    assert [len(done) for done in rounds] == [1, 1, 1, 1, 1, 0]
    assert status_of(project) == "crashed"
    assert Project.objects.get(pk=project.pk).crash_count == 5


def test_ends_further_apart_are_not_a_loop(project: Project, engine: MemoryEngine) -> None:
    for _ in range(8):
        engine.exit(project.container_name, 1)
        assert reconcile().repaired == [f"bring back: {project.container_name}"]
        later(project, crashes_since=timezone.now() - timedelta(minutes=11))


@pytest.mark.parametrize("exit_code", [20, 21, 30, 31, 32, 40])
def test_an_exit_that_no_restart_cures_is_given_up_at_once(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    engine.exit(project.container_name, exit_code)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    assert status_of(project) == "crashed"


def test_an_end_with_the_engine_is_no_crash(project: Project, engine: MemoryEngine) -> None:
    for _ in range(7):
        engine.restart_engine()
        assert reconcile().repaired == [f"bring back: {project.container_name}"]
        assert status_of(project) == "running"
    project.refresh_from_db()
    assert (project.crash_count, crash_events(), project.log_tail) == (0, 0, "")


def test_without_the_engine_s_start_time_an_end_is_a_crash(project: Project, engine: MemoryEngine) -> None:
    engine.restart_engine()
    engine.since = None
    reconcile()
    assert crash_events() == 1


def test_a_run_between_two_looks_is_not_missed(project: Project, engine: MemoryEngine) -> None:
    """Someone started it by hand, or a process that started it was killed before recording that."""
    engine.exit(project.container_name, 1)
    reconcile(repair=False)
    with engine._changed:
        engine._start(engine.containers[project.container_name])
    engine.exit(project.container_name, 1)
    reconcile(repair=False)
    project.refresh_from_db()
    assert project.crash_count == 2
    reconcile(repair=False)
    assert crash_events() == 2


@pytest.mark.parametrize(
    ("looked_ago", "exit_code", "status"),
    [(0, 1, "restarting"), (0, 20, "crashed"), (27, 1, "restarting"), (31, 1, "crashed"), (None, 1, "crashed")],
)
def test_an_agent_is_restarting_only_while_there_is_a_watcher(
    project: Project, engine: MemoryEngine, api: APIClient, looked_ago: int | None, exit_code: int, status: str
) -> None:
    engine.exit(project.container_name, exit_code)
    reconcile(repair=False)
    if looked_ago is not None:
        become_leader("w")
        Watch.objects.update(lease_until=timezone.now() + LEASE - timedelta(seconds=looked_ago))
    assert api.get(f"/api/projects/{project.id}").json()["status"] == status
    assert [row["status"] for row in api.get("/api/projects").json()] == [status]
    step_down("w")
    assert api.get(f"/api/projects/{project.id}").json()["status"] == "crashed"


def test_restarts_are_counted_for_each_container(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    engine.exit(project.container_name, 1)
    reconcile()
    assert api.get(f"/api/projects/{project.id}").json()["restarts"] == 1
    api.post(f"/api/projects/{project.id}/control", {"action": "restart"})
    assert api.get(f"/api/projects/{project.id}").json()["restarts"] == 0


def test_without_a_required_firewall_nothing_is_started_or_called_failed(
    project: Project, deploy: Callable[..., Project], engine: MemoryEngine, api: APIClient
) -> None:
    """As soon as the rules can be set, it continues as if nothing had happened."""
    other = deploy(telegramToken="78:other")
    engine.restart_engine()
    engine.fail("deploy", FirewallMissingError("The rules cannot be set."), times=2)
    result = reconcile()
    assert result.repaired == []
    assert len(result.failed) == 2
    for each in (project, other):
        each.refresh_from_db()
        assert (each.failure_code, each.operation, each.crash_count) == ("", "", 0)
    assert len(reconcile().repaired) == 2
    engine.fail("deploy", FirewallMissingError("The rules cannot be set."))
    api.post(f"/api/projects/{project.id}/control", {"action": "stop"})
    answer = api.post(f"/api/projects/{project.id}/control", {"action": "start"})
    assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable")
