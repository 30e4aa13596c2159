"""What only a Swarm does, on a real Swarm of one node."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

from containers.errors import EngineRefusedError, EngineUnavailableError, NoRoomError, SupersededError
from containers.get_engine import get_single_host
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy, make_spec, yes
from tests.containers.inside import run_inside
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.engines import USUAL
from tests.fakes.states import pack_state
from tests.waiting import wait_until

THE_TESTS_OWN = os.environ.get("DOCKER_HOST") or USUAL  # before a test names another one

pytestmark = pytest.mark.docker


def test_an_agent_is_confined_and_can_be_inspected_after_it_stopped(
    swarm_under_test: SwarmUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    """All in one test, because each start and stop takes a Swarm seconds."""
    engine, key = swarm_under_test.engine, swarm_under_test.key
    events = engine.events({"berth.project": key}, timeout=30)
    made = deploy(swarm_under_test, user=20007)
    _check_confinement(swarm_under_test)
    _hear(events, "start")
    call_command("swarm")
    told = capsys.readouterr().out
    assert "MB free" in told
    assert all(f"{word} (accepted)" in told for word in settings.BERTH_SWARM_ACCEPT)

    stopped = engine.stop(key, timeout=2)
    assert stopped is not None
    assert (stopped.state, stopped.exit_code, stopped.container_id) == (ContainerState.EXITED, 0, made.container_id)
    assert [line.partition(b'"state":"')[2][:7] for line in engine.logs(key)] == [b"running", b"stopped"]
    assert (
        swarm_under_test.client.inspect_service(swarm_under_test.name)["Spec"]["Mode"]["Replicated"].get("Replicas", 0)
        == 0
    )
    assert _hear(events, "die").exit_code == 0
    engine.remove(key, volumes=True)
    assert engine.inspect(key) is None
    assert swarm_under_test.volumes(swarm_under_test.name) == set()
    _hear(events, "destroy")


def _check_confinement(under_test: SwarmUnderTest) -> None:
    container = under_test.container_of(under_test.name)
    found = under_test.client.inspect_container(container)
    host = found["HostConfig"]
    assert (host["CapDrop"], host["CapAdd"], host["ReadonlyRootfs"], host["Init"]) == (["ALL"], None, True, True)
    assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (32 << 20, 500_000_000, 32)
    assert (found["Config"]["User"], found["Config"]["Healthcheck"]) == ("20007:20007", {"Test": ["NONE"]})
    assert {each["Name"]: each["Hard"] for each in host["Ulimits"]}["nofile"] == 4096
    mounts = _run(under_test, container, "cat", "/proc/mounts")
    in_memory = {line.split()[1]: line.split()[3] for line in mounts.splitlines() if line.startswith("tmpfs ")}
    for path in ("/tmp", "/run/agent", "/dev/shm"):
        assert {"nosuid", "nodev", "noexec"} <= set(in_memory[path].split(","))
    listed = _run(under_test, container, "ls", "-ln", "/run/secrets/agent_api_key").split()
    assert (listed[0], listed[2], listed[3]) == ("-r--r-----", "0", "20007")


def _run(under_test: SwarmUnderTest, container: str, *command: str) -> str:
    code, output = run_inside(under_test.client, container, *command)
    assert code == 0, output
    return output


def _hear(events: Any, action: str) -> Any:
    return next(each for each in events if each.action == action)


def test_an_agent_that_no_node_can_hold_is_refused_before_anything_is_created(swarm_under_test: SwarmUnderTest) -> None:
    spec = make_spec(swarm_under_test, memory=1 << 50)
    with pytest.raises(NoRoomError, match="MB of memory left"):
        swarm_under_test.engine.deploy(spec, confirm=yes)
    assert swarm_under_test.id_of(swarm_under_test.name) is None
    assert swarm_under_test.volumes(swarm_under_test.name) == set()


@pytest.mark.parametrize("accepted", [[], ["seccomp", "swap"], ["no-new-privileges", "swap"]])
def test_nothing_is_started_with_less_than_the_operator_accepts(
    swarm_under_test: SwarmUnderTest, accepted: list[str]
) -> None:
    with override_settings(BERTH_SWARM_ACCEPT=accepted), pytest.raises(EngineRefusedError, match="BERTH_SWARM_ACCEPT"):
        deploy(swarm_under_test)
    assert swarm_under_test.id_of(swarm_under_test.name) is None


@pytest.mark.rare(3)
def test_an_agent_is_kept_if_its_later_start_is_given_up(swarm_under_test: SwarmUnderTest) -> None:
    made = deploy(swarm_under_test)
    swarm_under_test.engine.stop(swarm_under_test.key, timeout=2)
    with pytest.raises(SupersededError):
        swarm_under_test.engine.deploy(make_spec(swarm_under_test), confirm=lambda: False)
    assert swarm_under_test.id_of(swarm_under_test.name) == made.container_id
    assert f"{swarm_under_test.name}-data" in swarm_under_test.volumes(swarm_under_test.name)


@pytest.mark.rare(3)
def test_each_crash_is_counted_also_those_that_the_swarm_has_forgotten(
    swarm_under_test: SwarmUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("containers.swarm.tasks.service_spec.RESTART_DELAY", 0.0)
    deploy(swarm_under_test, mode="crash")
    within, counts = {"berth.project": swarm_under_test.key}, [0]

    def has_crashed_often() -> bool:
        [seen] = swarm_under_test.engine.observe(within)
        counts.append(seen.restart_count or 0)
        assert counts[-1] - counts[-2] in {0, 1, 2}, counts
        return counts[-1] > 6

    wait_until(has_crashed_often)


def test_an_agent_whose_memory_was_brought_here_is_bound_to_this_node(swarm_under_test: SwarmUnderTest) -> None:
    """A memory from a single host or a backup is unpacked here, and each later deploy stays with it."""
    engine, key = swarm_under_test.engine, swarm_under_test.key
    here = swarm_under_test.client.info()["Swarm"]["NodeID"]
    spec = make_spec(swarm_under_test, user=20008)
    volume, archive = f"{swarm_under_test.name}-data", pack_state({"note": "remembered"}, user=20008)
    for _ in range(2):  # a second time, as after a move that was killed
        engine.remove(key, volumes=True)
        engine.write_state(key, volume=volume, labels=spec.labels, image=swarm_under_test.image, pieces=[archive])
    with pytest.raises(EngineRefusedError, match="already"):
        engine.write_state(key, volume=volume, labels=spec.labels, image=swarm_under_test.image, pieces=[archive])
    for generation in (1, 2):
        deploy(swarm_under_test, user=20008, generation=generation)
        container = swarm_under_test.container_of(swarm_under_test.name)
        assert _run(swarm_under_test, container, "cat", "/data/note") == "remembered"
        found = swarm_under_test.client.inspect_service(swarm_under_test.name)["Spec"]
        assert found["Labels"]["berth.home"] == here
        assert found["TaskTemplate"]["Placement"]["Constraints"] == [f"node.id == {here}"]
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local"), pytest.raises(EngineRefusedError, match="VOLUME_DRIVER"):
        engine.write_state(key, volume=volume, labels=spec.labels, image=swarm_under_test.image, pieces=[])


def test_another_host_s_engine_can_be_used_alongside_this_process_s(
    swarm_under_test: SwarmUnderTest,
) -> None:
    """Each has its own connection, so neither knows what the other one has."""
    deploy(swarm_under_test)
    other = get_single_host(THE_TESTS_OWN)
    assert other.inspect(swarm_under_test.key) is None
    with pytest.raises(EngineUnavailableError):
        get_single_host("unix:///nowhere/docker.sock").ping()
    assert swarm_under_test.engine.inspect(swarm_under_test.key) is not None


@pytest.mark.rare(3)
def test_each_agent_has_a_separate_shared_folder_that_is_emptied_with_its_memory(
    swarm_under_test: SwarmUnderTest, tmp_path: Path
) -> None:
    """`test_memory_of_nodes.py` tests the same with several nodes."""
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)
    options = {"type": "none", "o": "bind", "device": f"{tmp_path}/{{agent}}"}
    folder = tmp_path / swarm_under_test.name
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local", BERTH_SWARM_VOLUME_OPTIONS=options):
        for generation in (1, 2):
            deploy(swarm_under_test, user=20009, generation=generation)
            assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (20009, 0o700)
            container = swarm_under_test.container_of(swarm_under_test.name)
            _run(swarm_under_test, container, "touch", f"/data/note{generation}")
        assert sorted(each.name for each in folder.iterdir()) == ["note1", "note2"]
        swarm_under_test.engine.remove(swarm_under_test.key, volumes=True)
    assert list(folder.iterdir()) == []
