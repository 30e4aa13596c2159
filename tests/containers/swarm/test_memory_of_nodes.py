"""Memories on a real Swarm of three nodes: on the nodes' disks, and in a folder that all nodes share.

`.venv/bin/python -m pytest tests/containers/swarm/test_memory_of_nodes.py --whole -s` takes two minutes.
`test_volume_cleanup.py` tests the requests to the manager in each run.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from containers.errors import EngineUnavailableError
from containers.hardening import data_volume
from containers.identity import container_name
from containers.vocabulary import DiskUse
from tests.containers.disk_use import measure
from tests.containers.engine_fixtures import deploy
from tests.containers.inside import run_inside
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.moves import where_they_run
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.rare(24), pytest.mark.timeout(600)]

ELSEWHERE_WITHIN = 60.0
USER = 20007


@pytest.fixture
def swarm() -> Iterator[Swarm]:
    made = some_nodes(3, heartbeat=1.0)
    with made as found, pytest.MonkeyPatch.context() as patch, found.settings(patch):
        found.cluster.set_availability(found.cluster.manager, "drain")  # the agents are on the other two
        yield found


def test_memory_in_a_shared_folder_moves_along_and_can_be_cleared(swarm: Swarm, tmp_path: Path) -> None:
    under_test, shared = swarm.under_test(), tmp_path / "agents"
    shared.mkdir()
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)
    under_test.key = key = f"{under_test.key}-own"
    _clear_on_the_disks_of_two_nodes(swarm, key)
    under_test.key = key = f"{under_test.key}-shared"
    options = {"type": "none", "o": "bind", "device": f"{shared}/{{agent}}"}
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local", BERTH_SWARM_VOLUME_OPTIONS=options):
        deploy(under_test, key=key, user=USER)
        first = node_of(swarm, key)
        note(first, key, "remembered")
        folder = shared / container_name(key)
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (USER, 0o700)
        swarm.cluster.kill(first)
        killed_at = time.monotonic()
        second = wait_until(lambda: node_of(swarm, key, but=first), within=ELSEWHERE_WITHIN)
        assert read_note(second, key) == "remembered"
        sys.stdout.write(
            f"It remembers on another node {time.monotonic() - killed_at:.1f} s after its own was killed.\n"
        )
        swarm.engine.remove(key, volumes=True)
        assert list(folder.iterdir()) == []


def _clear_on_the_disks_of_two_nodes(swarm: Swarm, key: str) -> None:
    deploy(swarm.under_test(), key=key, user=USER)
    first = node_of(swarm, key)
    note(first, key, "here")
    assert measure(swarm.under_test(), key)[key].files == 1
    swarm.cluster.set_availability(first, "drain")
    second = wait_until(lambda: node_of(swarm, key, but=first), within=ELSEWHERE_WITHIN)
    note(second, key, "and there")
    (folder_on(second, key) / "another").write_text("")
    assert measure(swarm.under_test(), key)[key].files == 2
    with pytest.raises(EngineUnavailableError, match=first.name):
        swarm.engine.remove(key, volumes=True)
    assert on_disk(first, key) == ["note"], "What could not be removed is said to be there."
    swarm.cluster.set_availability(first, "active")
    began = time.monotonic()
    swarm.engine.remove(key, volumes=True)
    sys.stdout.write(f"What it remembered on two nodes went within {time.monotonic() - began:.1f} s.\n")
    assert (on_disk(first, key), on_disk(second, key)) == ([], [])
    assert swarm.engine.inspect(key) is None
    assert measure(swarm.under_test(), key) == {key: DiskUse(used=0, files=0)}


def node_of(swarm: Swarm, key: str, but: SwarmNode | None = None) -> SwarmNode:
    """Returns the node on which it runs. Returns None if it runs nowhere, or on the node `but`."""
    found = where_they_run(swarm.engine)
    return next((each for each in swarm.cluster.nodes if each is not but and key in found.get(each.node_id, ())), None)  # type: ignore[return-value]  # which `wait_until` takes for not yet


def note(node: SwarmNode, key: str, text: str) -> None:
    code, output = run_inside(node.client, container_on(node, key), "sh", "-c", f"echo {text} > /data/note")
    assert code == 0, output


def read_note(node: SwarmNode, key: str) -> str:
    code, output = run_inside(node.client, container_on(node, key), "cat", "/data/note")
    assert code == 0, output
    return output.strip()


def container_on(node: SwarmNode, key: str) -> str:
    [found] = node.client.containers(filters={"label": f"berth.project={key}"})
    return str(found["Id"])


def folder_on(node: SwarmNode, key: str) -> Path:
    return node.home / "data" / "volumes" / data_volume(container_name(key)) / "_data"


def on_disk(node: SwarmNode, key: str) -> list[str]:
    return sorted(each.name for each in folder_on(node, key).iterdir())
