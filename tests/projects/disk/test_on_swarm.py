"""On a real Swarm of two nodes: an agent on the worker fills its memory, is stopped, cleared, and starts again.

`.venv/bin/python -m pytest tests/projects/disk/test_on_swarm.py --whole` takes a minute, and root.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.programs import is_root
from projects.models import AgentType, Plan
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.chaos.inside.prepare import add_offers
from tests.containers.inside import run_inside
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.deploying import create_project
from tests.projects.disk.measuring import told
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.rare(24),
    pytest.mark.timeout(600),
    pytest.mark.skipif(not is_root(), reason="takes the right to make networks"),
]

LIMIT_MB = 16


@pytest.fixture
def swarm(settings: Any) -> Iterator[Swarm]:
    settings.BERTH_ENGINE_CLASS = "containers.swarm.engine.SwarmEngine"
    settings.BERTH_GATEWAY = False
    with some_nodes(2, heartbeat=1.0) as found, pytest.MonkeyPatch.context() as patch, found.settings(patch):
        found.cluster.set_availability(found.cluster.manager, "drain")
        yield found


def find_containers(node: SwarmNode, key: str) -> list[str]:
    """Returns the ids of the running containers of this agent on the node."""
    return [str(found["Id"]) for found in node.client.containers(filters={"label": f"berth.project={key}"})]


def test_an_agent_on_a_worker_that_fills_its_memory_is_stopped_until_it_is_cleared(
    api: APIClient, swarm: Swarm
) -> None:
    manager, worker = swarm.cluster.nodes
    add_offers(AgentType, Plan, swarm.images[0])
    Plan.objects.filter(slug="chaos").update(disk_mb=LIMIT_MB)
    project = create_project(api, {"name": "Greedy", "type": "stub", "plan": "chaos"})
    path, key = f"/api/projects/{project.pk}", project.container_key

    def run(*command: str) -> str:
        [container] = wait_until(lambda: find_containers(worker, key))
        code, output = run_inside(worker.client, container, *command)
        assert code == 0, output
        return output

    def write(first: int, last: int) -> None:
        run("sh", "-c", f"for n in $(seq {first} {last}); do dd if=/dev/zero of=/data/$n bs=1M count=1; done")

    def look() -> Any:
        measure_disks()
        reconcile()
        return api.get(path).json()

    write(1, 14)
    answer = look()
    assert answer["status"] == "running"
    assert 14 << 20 <= answer["disk"]["used"] < LIMIT_MB << 20
    assert told(project) == [("disk", "warning")]

    write(15, 17)
    answer = look()
    assert (answer["status"], answer["status_reason"]["code"]) == ("failed", "disk_full")
    assert "Clear the agent's memory or choose a larger plan" in answer["status_reason"]["message"]
    for _ in range(2):
        assert not find_containers(worker, key)
        assert look()["status"] == "failed"
    refused = api.post(f"{path}/control", {"action": "start"})
    assert (refused.status_code, refused.json()["code"]) == (409, "disk_full")

    swarm.cluster.kill(worker)
    wait_until(lambda: not swarm.cluster.is_ready(worker))
    away = api.delete(f"{path}/memory")
    assert (away.status_code, away.json()["code"]) == (503, "engine_unavailable")
    assert f"on the disk of {worker.name}, which takes no tasks now" in away.json()["detail"], away.json()
    answer = api.get(path).json()
    assert (answer["status"], answer["status_reason"]["code"]) == ("failed", "disk_full")
    swarm.revive(worker)

    cleared = api.delete(f"{path}/memory")
    assert (cleared.status_code, cleared.json()["disk"]["used"]) == (200, 0)
    assert run("ls", "-A", "/data") == ""
    answer = wait_until(lambda: found if (found := look())["status"] == "running" else None)
    assert answer["disk"]["used"] < 1 << 20
    assert told(project) == [("disk", "warning"), ("disk", "full")]
    assert not find_containers(manager, key)
