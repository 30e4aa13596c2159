"""Which memories are measured, and that nothing is delayed by it."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from projects.models import Plan, Project
from projects.rules.disk import DISK_FULL
from projects.services.container_spec import build_spec
from projects.services.limits.disk import note_disk_use
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import Disks, describe_missed, measure_disks
from tests.fakes.engine import MemoryEngine
from tests.projects.disk.measuring import keep
from tests.projects.disk.showing import shown


def test_a_measurement_from_before_a_clearing_does_not_count(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    keep(engine, project, 1.1)
    before = Project.objects.get(pk=project.pk)
    found = dict(engine.measure_disks({project.container_key: 10**9}, images=[]))
    assert api.delete(f"/api/projects/{project.pk}/memory").status_code == 200
    note_disk_use(before, found[project.container_key])
    reconcile()
    assert (shown(api, project)["status"], shown(api, project)["disk"]["used"]) == ("running", 0)


def test_a_hanging_measurement_delays_no_other(deploy: Callable[..., Project], engine: MemoryEngine) -> None:
    hanging, other = deploy(name="A"), deploy(name="B", telegramToken="5:another")
    engine.unmeasurable.add(hanging.container_key)
    measure_disks()
    hanging.refresh_from_db()
    other.refresh_from_db()
    assert (hanging.disk_measured_at, other.disk_used) == (None, 4096)


def test_an_engine_without_the_means_changes_nothing(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    engine.fail("measure_disks", EngineRefusedError)
    with pytest.raises(EngineRefusedError):
        measure_disks()
    assert (shown(api, project)["status"], shown(api, project)["disk"]["used"]) == ("running", None)


def test_an_unchanged_agent_is_not_measured_again(project: Project, engine: MemoryEngine, control: Any) -> None:
    control("stop")
    measure_disks()
    engine.calls.clear()
    measure_disks()
    assert ("measure_disks", project.container_key) not in engine.calls
    control("start")
    measure_disks()
    assert ("measure_disks", project.container_key) in engine.calls


def test_an_agent_over_its_limit_in_a_partial_count_is_stopped(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    engine.fill(project.container_key, int(project.plan.disk * 1.1), is_part=True)
    assert measure_disks() == set()
    reconcile()
    assert shown(api, project)["status"] == "failed"
    project.refresh_from_db()
    assert project.failure_code == DISK_FULL
    engine.fill(project.container_key, 4096, is_part=True)  # less was counted this time
    assert measure_disks() == set()
    reconcile()
    assert shown(api, project)["status"] == "failed"
    project.refresh_from_db()
    assert project.failure_code == DISK_FULL


def test_a_partial_count_below_the_limit_proves_nothing(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    engine.fill(project.container_key, int(project.plan.disk * 0.9), is_part=True)
    assert measure_disks() == {str(project.pk)}
    assert (shown(api, project)["status"], shown(api, project)["disk"]["used"]) == ("running", None)


def test_staff_see_agents_that_were_missed_twice(deploy: Callable[..., Project], engine: MemoryEngine) -> None:
    hanging, other = deploy(name="A"), deploy(name="B", telegramToken="5:another")
    engine.unmeasurable.add(hanging.container_key)
    disks = Disks(lambda: True, lambda _: None)
    assert disks._measure() == ""
    assert str(hanging.pk) in disks._measure()
    assert str(other.pk) not in disks._measure()
    engine.unmeasurable.clear()
    assert disks._measure() == ""


def test_many_missed_agents_are_listed_in_one_short_line() -> None:
    assert len(describe_missed({str(uuid4()) for _ in range(10_000)})) < 400


def test_a_new_volume_may_hold_a_tenth_more_than_the_largest_plan_gives(project: Project) -> None:
    """Even if nobody may choose that plan any longer, because its agents still exist."""
    Plan.objects.update(disk_mb=100)
    Plan.objects.filter(slug="starter").update(disk_mb=1000, available=False)
    assert build_spec(project).disk_ceiling == 1100 * 1024 * 1024
