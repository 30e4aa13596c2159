"""Copies of agents' memories on a real Swarm of three nodes, of which one is killed or drained.

`.venv/bin/python -m pytest tests/containers/swarm/test_copies_of_nodes.py --whole -s` takes four minutes.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from containers.agent_reports import Waits
from containers.errors import EngineError, EngineUnavailableError
from containers.hardening import COPY
from containers.identity import container_name, own_labels
from containers.swarm.states.copy_jobs import CopyJobs
from containers.vocabulary import PROJECT_LABEL, ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.containers.swarm.test_memory_of_nodes import ELSEWHERE_WITHIN, USER, node_of, note, on_disk, read_note
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.rare(24), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def swarm() -> Iterator[Swarm]:
    """The manager is drained, so agents run on the two other nodes."""
    made = some_nodes(3, heartbeat=1.0)
    with made as found, pytest.MonkeyPatch.context() as patch, found.settings(patch):
        found.cluster.set_availability(found.cluster.manager, "drain")
        yield found


def keep(swarm: Swarm, key: str) -> None:
    labels = {**own_labels(), PROJECT_LABEL: key}
    swarm.engine.keep_copy(key, image=swarm.images[0], labels=labels)


def give_back(swarm: Swarm, key: str) -> bool:
    return swarm.engine.return_copy(key, image=swarm.images[0])


def start(swarm: Swarm, key: str, *, generation: int = 1) -> SwarmNode:
    deploy(swarm.under_test(), key=key, user=USER, generation=generation)
    return wait_until(lambda: node_of(swarm, key), within=ELSEWHERE_WITHIN)


def take_down(swarm: Swarm, key: str) -> None:
    """Stops the agent. Tries again if a node has just come back and the Swarm does not know its tasks yet."""

    def has_ended() -> bool:
        try:
            swarm.engine.stop(key, timeout=2)
            swarm.engine.remove(key)
        except EngineUnavailableError:
            return False
        return True

    wait_until(has_ended, within=ELSEWHERE_WITHIN)


def copies_on(node: SwarmNode, key: str) -> list[str]:
    folder = node.home / "data" / "volumes" / f"{container_name(key)}{COPY}" / "_data"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_the_copy_waits_for_its_node_and_comes_back_with_it(swarm: Swarm) -> None:
    key = f"{swarm.under_test().key}-back"
    there = start(swarm, key)
    note(there, key, "remembered")
    swarm.engine.stop(key, timeout=2)
    began = time.monotonic()
    keep(swarm, key)
    sys.stdout.write(f"A copy on another node took {time.monotonic() - began:.1f} s.\n")
    assert copies_on(there, key) == ["kept.tar"]
    for number in range(4):  # so that the Swarm would prefer the other node
        deploy(swarm.under_test(), key=f"{key}-{number}")
    assert start(swarm, key, generation=2) is there
    note(there, key, "spoiled")
    swarm.cluster.kill(there)
    _check_waits_for_its_machine(swarm, key)
    with swarm.engine.deadline(5), pytest.raises(EngineUnavailableError, match=there.name):
        swarm.engine.stop(key, timeout=2)
    with pytest.raises(EngineUnavailableError, match="nobody knows whether"):
        give_back(swarm, key)
    swarm.revive(there)
    take_down(swarm, key)
    began = time.monotonic()
    assert give_back(swarm, key)
    sys.stdout.write(f"To return it took {time.monotonic() - began:.1f} s.\n")
    assert start(swarm, key, generation=3) is there
    assert read_note(there, key) == "remembered"
    swarm.engine.drop_copy(key)
    assert (copies_on(there, key), read_note(there, key)) == ([], "remembered")
    swarm.cluster.set_availability(there, "drain")
    wait_until(lambda: node_of(swarm, key, but=there), within=ELSEWHERE_WITHIN)  # it may run anywhere again
    swarm.cluster.set_availability(there, "active")
    swarm.engine.remove(key, volumes=True)


def _check_waits_for_its_machine(swarm: Swarm, key: str) -> None:
    def code() -> str:
        try:
            seen = swarm.engine.inspect(key)
        except EngineError:
            return ""
        assert seen is not None
        return seen.report.code if seen.report and seen.state is ContainerState.RESTARTING else ""

    wait_until(lambda: code() == Waits.HOME_AWAY, within=ELSEWHERE_WITHIN)


def test_no_copy_is_made_on_a_node_that_is_away_and_nothing_is_lost(swarm: Swarm) -> None:
    key = f"{swarm.under_test().key}-away"
    there = start(swarm, key)
    note(there, key, "remembered")
    swarm.engine.stop(key, timeout=2)
    swarm.cluster.set_availability(there, "drain")
    with pytest.raises(EngineUnavailableError, match=f"on {there.name}, which takes no tasks now"):
        keep(swarm, key)
    assert (on_disk(there, key), copies_on(there, key)) == (["note"], [])
    swarm.cluster.set_availability(there, "active")
    keep(swarm, key)
    swarm.engine.drop_copy(key)
    swarm.engine.remove(key, volumes=True)
    assert on_disk(there, key) == []


def test_an_agent_starts_elsewhere_if_its_node_dies_while_a_copy_is_made(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is what happens whenever a node dies. The rest of the copy is removed when the node is back."""
    key = f"{swarm.under_test().key}-dies"
    there = start(swarm, key)
    note(there, key, "remembered")
    swarm.engine.stop(key, timeout=2)
    real = CopyJobs._await

    def kill(jobs: CopyJobs, job: str, node: Any) -> Any:
        swarm.cluster.kill(there)
        return real(jobs, job, node)

    with monkeypatch.context() as patch:
        patch.setattr(CopyJobs, "_await", kill)
        with pytest.raises(EngineUnavailableError, match=there.name):
            keep(swarm, key)
    wait_until(lambda: _is_down(swarm, there), within=ELSEWHERE_WITHIN)
    assert start(swarm, key, generation=2) is not there
    with pytest.raises(EngineUnavailableError, match=there.name):
        swarm.engine.drop_copy(key)
    swarm.revive(there)
    wait_until(lambda: _has_dropped(swarm, key), within=ELSEWHERE_WITHIN)
    assert (on_disk(there, key), copies_on(there, key)) == (["note"], [])
    swarm.engine.remove(key, volumes=True)
    assert on_disk(there, key) == []


def _is_down(swarm: Swarm, node: SwarmNode) -> bool:
    return bool(swarm.cluster.manager.client.inspect_node(node.node_id)["Status"]["State"] == "down")


def _has_dropped(swarm: Swarm, key: str) -> bool:
    try:
        swarm.engine.drop_copy(key)
    except EngineUnavailableError:
        return False
    return True


def test_a_copy_in_a_shared_folder_comes_back_on_another_node(swarm: Swarm, tmp_path: Path) -> None:
    key, shared = f"{swarm.under_test().key}-shared", tmp_path / "agents"
    shared.mkdir()
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)
    folder, copy = shared / container_name(key), shared / f"{container_name(key)}{COPY}"
    options = {"type": "none", "o": "bind", "device": f"{shared}/{{agent}}"}
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local", BERTH_SWARM_VOLUME_OPTIONS=options):
        first = start(swarm, key)
        note(first, key, "remembered")
        swarm.engine.stop(key, timeout=2)
        keep(swarm, key)
        assert ([each.name for each in copy.iterdir()], copy.stat().st_mode & 0o777) == (["kept.tar"], 0o700)
        first = start(swarm, key, generation=2)
        note(first, key, "spoiled")
        take_down(swarm, key)
        swarm.cluster.set_availability(first, "drain")
        assert give_back(swarm, key)
        assert ((folder / "note").read_text(), folder.stat().st_uid) == ("remembered\n", USER)
        second = start(swarm, key, generation=3)
        assert (second is not first, read_note(second, key)) == (True, "remembered")
        swarm.engine.drop_copy(key)
        assert list(copy.iterdir()) == []
        swarm.engine.remove(key, volumes=True)
        assert list(folder.iterdir()) == []
        swarm.cluster.set_availability(first, "active")
