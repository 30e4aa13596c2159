"""A restarted agent is not called running because of what its former run has reported."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from containers.vocabulary import Health
from projects.models import Project
from projects.rules.status.derivation import derive_status
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.report_inspections import ReportInspections
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import grow_old

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Restart = Callable[[APIClient, MemoryEngine, Project], object]
REPORTS = [("running", ""), ("degraded", "provider_key"), ("failed", "telegram_token")]


def _by_verb(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200


def _stopped_and_started(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    for action in ("stop", "start"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": action}).status_code == 200


def _by_the_engine(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    engine.crash(project.container_name, restarting=True)
    engine.restart_once_more(project.container_name)


def _by_the_engine_seen(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    engine.crash(project.container_name, restarting=True)
    reconcile()
    engine.restart_once_more(project.container_name)


def _by_the_watcher(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    engine.exit(project.container_name, 1)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]


def _from_outside(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    """As by `docker restart`, which counts no restart."""
    engine.exit(project.container_name, 0)
    engine.restart_once_more(project.container_name)


def _with_the_machine(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    engine.restart_engine()
    engine.restart_once_more(project.container_name)


def _with_the_machine_by_the_watcher(api: APIClient, engine: MemoryEngine, project: Project) -> None:
    engine.restart_engine()
    assert reconcile().repaired == [f"bring back: {project.container_name}"]


RESTARTS: list[Restart] = [
    _by_verb,
    _stopped_and_started,
    _by_the_engine,
    _by_the_engine_seen,
    _by_the_watcher,
    _from_outside,
    _with_the_machine,
    _with_the_machine_by_the_watcher,
]


def said_of(project: Project) -> tuple[str, str]:
    """Returns the status a second after the start, on however slow a machine, and the code that explains it."""
    row = Project.objects.select_related("owner").get(pk=project.pk)
    assert row.started_at is not None
    row.observed_at = now = row.started_at + timedelta(seconds=1)
    return derive_status(row.facts(now)), row.agent_code


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", ["round", "event", "report", "read"])
@pytest.mark.parametrize("health", [Health.HEALTHY, Health.NONE, Health.UNHEALTHY])
@pytest.mark.parametrize("restart", RESTARTS)
@pytest.mark.parametrize("report", REPORTS)
def test_a_restarted_agent_is_starting_until_it_has_reported(
    victim: Project,
    engine: MemoryEngine,
    api: APIClient,
    looks: ReportInspections,
    report: tuple[str, str],
    restart: Restart,
    health: Health,
    way: str,
) -> None:
    name, keys = victim.container_name, {victim.container_key}
    engine.set_health(name, health)
    engine.report(name, *report)
    reconcile(changed_keys=keys)
    row = Project.objects.get(pk=victim.pk)
    assert (row.agent_state, row.agent_code) == report

    engine.ready_after_deploy = False
    restart(api, engine, victim)
    container = engine.containers[name]
    container.report, container.health = None, Health.NONE if health is Health.NONE else Health.STARTING
    if way == "report":  # of another agent, or one that this run has not printed
        looks.look_at(victim.container_key)
        looks.step()
    elif way == "read":
        grow_old()
        found = api.get(f"/api/projects/{victim.pk}").json()
        assert found["status_reason"] is None or found["status_reason"]["code"] != report[1]
    reconcile(changed_keys=keys if way == "event" else set())
    assert said_of(victim) == ("starting", "")

    engine.report(name, "running")
    reconcile(changed_keys=keys)
    assert said_of(victim) == ("running", "")


def test_a_report_holds_while_its_run_goes_on(victim: Project, engine: MemoryEngine) -> None:
    """Also if the engine's answer lacks it, because it is too far back in the log, or because it is only a list."""
    engine.set_health(victim.container_name, Health.NONE)
    engine.report(victim.container_name, "degraded", "provider_key")
    reconcile(changed_keys={victim.container_key})
    engine.containers[victim.container_name].report = None
    for _ in range(3):
        reconcile(changed_keys={victim.container_key})
        assert said_of(victim) == ("degraded", "provider_key")
    engine.pause(victim.container_name)
    reconcile(changed_keys={victim.container_key}, repair=False)
    row = Project.objects.get(pk=victim.pk)
    assert (row.status, row.agent_code) == ("degraded", "provider_key")


def test_the_last_report_explains_the_end_of_its_run(victim: Project, engine: MemoryEngine) -> None:
    engine.report(victim.container_name, "failed", "provider_key")
    reconcile(changed_keys={victim.container_key})
    engine.crash(victim.container_name, exit_code=1, restarting=True)
    engine.containers[victim.container_name].report = None
    reconcile(changed_keys={victim.container_key})
    assert Project.objects.get(pk=victim.pk).agent_code == "provider_key"
