"""On a real engine: an agent fills its memory in a loop, its owner is warned, it is stopped,
cleared, and starts again."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.deploying import create_project
from tests.projects.disk.measuring import told

LIMIT_MB = 16


@pytest.mark.docker
@pytest.mark.one_database
def test_an_agent_that_fills_its_memory_in_a_loop_is_stopped(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    add_offers(AgentType, Plan, docker_under_test.image)
    Plan.objects.filter(slug="chaos").update(disk_mb=LIMIT_MB)
    project = create_project(api, {"name": "Greedy", "type": "stub", "plan": "chaos"})
    path = f"/api/projects/{project.pk}"

    def write(first: int, last: int) -> None:
        loop = f"for n in $(seq {first} {last}); do dd if=/dev/zero of=/data/$n bs=1M count=1 2>/dev/null; done"
        assert docker_under_test.run("sh", "-c", loop, name=project.container_name)[0] == 0

    write(1, 14)
    measure_disks()
    reconcile()
    answer = api.get(path).json()
    assert answer["status"] == "running"
    assert 14 << 20 <= answer["disk"]["used"] < LIMIT_MB << 20
    assert (answer["disk"]["files"], told(project)) == (14, [("disk", "warning")])

    write(15, 17)
    measure_disks()
    reconcile()
    answer = api.get(path).json()
    assert (answer["status"], answer["status_reason"]["code"]) == ("failed", "disk_full")
    assert not docker_under_test.is_running(project.container_name)
    for _ in range(2):
        reconcile()
    assert not docker_under_test.is_running(project.container_name)
    assert api.post(f"{path}/control", {"action": "start"}).json()["code"] == "disk_full"

    answer = api.delete(f"{path}/memory")
    assert (answer.status_code, answer.json()["disk"]["used"]) == (200, 0)
    assert docker_under_test.is_running(project.container_name)
    assert docker_under_test.run("ls", "-A", "/data", name=project.container_name) == (0, "")
    measure_disks()
    assert api.get(path).json()["disk"]["used"] < 1 << 20
    assert told(project) == [("disk", "warning"), ("disk", "full")]
