"""A changed plan reaches each agent at its next start, if the host has room for it then."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Plan, Project
from projects.services.limits.capacity import measure_capacity
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.services.capacity.commands import MIB, send

COMMANDS: dict[str, Callable[[APIClient, Project], Any]] = {
    "start": lambda api, project: send(api, project, "start"),
    "restart": lambda api, project: send(api, project, "restart"),
    "clear": lambda api, project: api.delete(f"/api/projects/{project.pk}/memory"),
}


def raise_plan(memory_mb: int) -> None:
    Plan.objects.filter(slug="pro").update(memory_mb=memory_mb)


def memory_of(engine: MemoryEngine, project: Project) -> int:
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    return spec.memory // MIB


@pytest.mark.parametrize("command", COMMANDS)
def test_no_plan_gets_more_than_the_host_has(
    command: str, full: list[Project], api: APIClient, engine: MemoryEngine
) -> None:
    """Two with 1024 MB run in 2048 MB, and would be two with 1100 MB."""
    raise_plan(1100)
    if command == "start":
        assert send(api, full[0], "stop").status_code == 200
    assert_problem(COMMANDS[command](api, full[0]), 503, "no_capacity")
    assert measure_capacity().promised <= 2048
    assert memory_of(engine, full[1]) == 1024


@pytest.mark.parametrize("command", COMMANDS)
def test_an_agent_that_starts_while_there_is_room_gets_the_changed_plan(
    command: str, full: list[Project], api: APIClient, engine: MemoryEngine
) -> None:
    raise_plan(1100)
    assert send(api, full[1], "stop").status_code == 200
    if command == "start":
        assert send(api, full[0], "stop").status_code == 200
    assert COMMANDS[command](api, full[0]).status_code in {200, 204}
    assert memory_of(engine, full[0]) == 1100
    assert measure_capacity().promised == 1100
    assert_problem(send(api, full[1], "start"), 503, "no_capacity")


def test_a_container_recreated_by_the_watcher_keeps_its_limits(full: list[Project], engine: MemoryEngine) -> None:
    raise_plan(1100)
    for project in full:
        del engine.containers[project.container_name]
    for _ in range(3):
        reconcile()
    assert [memory_of(engine, project) for project in full] == [1024, 1024]
    assert measure_capacity().promised == 2048


def test_a_smaller_plan_gives_back_at_the_next_start(
    full: list[Project], create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    raise_plan(512)
    assert measure_capacity().promised == 2048, "both still have it"
    assert_problem(create(), 503, "no_capacity")
    assert send(api, full[0], "restart").status_code == 200
    assert (memory_of(engine, full[0]), measure_capacity().promised) == (512, 1536)
    assert create().status_code == 201


def test_a_smaller_plan_takes_effect_at_the_next_start(
    full: list[Project], create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    """Otherwise two that become small one after another would leave room for two more, while they still run."""
    for project, plans in zip(full, (("free", "starter", "free"), ("starter",)), strict=True):
        for plan in plans:
            assert api.patch(f"/api/projects/{project.pk}", {"plan": plan}).status_code == 200
    assert measure_capacity().promised == 2048
    assert_problem(create(), 503, "no_capacity")
    assert api.patch(f"/api/projects/{full[0].pk}", {"plan": "pro"}).status_code == 200, "it is still its own"
    assert api.patch(f"/api/projects/{full[0].pk}", {"plan": "free"}).status_code == 200
    del engine.containers[full[0].container_name]
    for _ in range(3):
        reconcile()
    assert memory_of(engine, full[0]) == 256, "a container that is made anew has no more than its plan gives"
    assert send(api, full[1], "restart").status_code == 200
    assert (memory_of(engine, full[1]), measure_capacity().promised) == (512, 1024 + 512)


@pytest.mark.parametrize("path", ["restart", "change"])
def test_a_row_of_an_earlier_version_has_the_limits_of_its_plan(
    path: str, full: list[Project], api: APIClient, engine: MemoryEngine
) -> None:
    Project.objects.update(memory_mb=None)
    assert measure_capacity().promised == 2048
    if path == "change":
        assert api.patch(f"/api/projects/{full[0].pk}", {"plan": "free"}).status_code == 200
        assert measure_capacity().promised == 2048, "it still has it"
    assert send(api, full[0], "restart").status_code == 200
    expected = 256 if path == "change" else 1024
    assert (memory_of(engine, full[0]), Project.objects.get(pk=full[0].pk).memory_mb) == (expected, expected)
