"""Each agent's state belongs to the agent's own user:
a new volume, and one from before agents had users of their own."""

from typing import Any

import pytest

from containers.agent_contract import AGENT_USER
from containers.docker.engine import DockerEngine
from containers.docker.volumes import data_directory, handover
from containers.errors import EngineRefusedError
from containers.vocabulary import ContainerState
from tests.busybox import pack_root
from tests.containers.docker.handing_over import USER, everything_in_data, helpers
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = [pytest.mark.docker, pytest.mark.rare(1)]


def test_a_new_world_writable_volume_is_left_unchanged(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, user=USER)
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/data") == (0, f"{AGENT_USER} {AGENT_USER} 777\n")
    assert docker_under_test.run("sh", "-c", "mkdir /data/x && echo fine > /data/x/y")[0] == 0
    deploy(docker_under_test, user=USER, generation=2)
    assert docker_under_test.run("sh", "-c", "echo more >> /data/x/y && cat /data/x/y") == (0, "fine\nmore\n")
    assert helpers(docker_under_test) == []


def test_existing_files_change_to_the_agent_s_new_user(docker_under_test: DockerUnderTest) -> None:
    """The situation after a restored backup."""
    deploy(docker_under_test, user=USER)
    assert docker_under_test.run("sh", "-c", "mkdir /data/x && echo fine > /data/x/y")[0] == 0
    deploy(docker_under_test, user=USER + 1, generation=2)
    assert set(everything_in_data(docker_under_test).values()) == {(USER + 1, USER + 1)}
    assert docker_under_test.run("stat", "-c", "%a", "/data") == (0, "700\n")


def test_a_new_volume_belongs_to_the_agent(docker_under_test: DockerUnderTest, closed_image: str) -> None:
    deploy(docker_under_test, user=USER, image=closed_image)
    assert docker_under_test.run("id", "-u") == (0, f"{USER}\n")
    assert docker_under_test.run("id", "-g") == (0, f"{USER}\n")
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/data") == (0, f"{USER} {USER} 700\n")
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x && echo fine > /run/agent/x")[0] == 0
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/run/secrets/agent_api_key") == (0, f"0 {USER} 440\n")
    assert helpers(docker_under_test) == []


@pytest.mark.parametrize("archive", [b"no archive", bytes(1024)], ids=["refused", "ignored"])
def test_an_engine_that_gives_no_directory_away_by_itself(
    archive: bytes, docker_under_test: DockerUnderTest, closed_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_under_test.engine = DockerEngine()  # a client that knows nothing yet about what its engine does
    tries: list[str] = []

    def pack(name: str, *_: object) -> bytes:
        tries.append(name)
        return archive

    monkeypatch.setattr(data_directory, "pack_directory", pack)
    for generation in (1, 2):
        seen = deploy(docker_under_test, generation=generation, user=USER + generation, image=closed_image)
        assert seen.state is ContainerState.RUNNING
        assert everything_in_data(docker_under_test) == {"data": (USER + generation, USER + generation)}
    assert tries == ["../data"]
    assert helpers(docker_under_test) == []


def test_an_image_without_a_shell_runs_as_any_user(docker_under_test: DockerUnderTest, image_with: Any) -> None:
    image = image_with(pack_root({}, applets=["sleep"], data_mode=0o700), 'CMD ["/bin/sleep", "1000"]')
    assert deploy(docker_under_test, user=USER, image=image).state is ContainerState.RUNNING
    assert everything_in_data(docker_under_test) == {"data": (USER, USER)}


def test_files_from_the_image_belong_to_the_agent_too(docker_under_test: DockerUnderTest, image_with: Any) -> None:
    seeded = pack_root(
        {"agent": "#!/bin/sh\nexec sleep 1000\n", "data/seed": "x"}, applets=["sh", "sleep", "find", "chmod", "chown"]
    )
    deploy(docker_under_test, user=USER, image=image_with(seeded, 'CMD ["/agent"]', "ENV PATH=/bin"))
    assert everything_in_data(docker_under_test) == {"data": (USER, USER), "data/seed": (USER, USER)}


def test_without_the_helper_image_the_deploy_is_refused_with_advice(
    docker_under_test: DockerUnderTest, image_with: Any
) -> None:
    seeded = image_with(pack_root({"data/seed": "x"}, applets=["sleep"]), 'CMD ["/bin/sleep", "1000"]')
    with pytest.raises(EngineRefusedError, match=f"needs sh, find, chmod and chown.*{USER}"):
        deploy(docker_under_test, user=USER, image=seeded)
    assert docker_under_test.id_of(docker_under_test.name) is None
    assert docker_under_test.volumes(docker_under_test.name) == set()
    assert helpers(docker_under_test) == []


def test_all_that_an_older_agent_has_left_is_handed_over_and_nothing_else(old: DockerUnderTest) -> None:
    before = everything_in_data(old)
    deploy(old, generation=2, user=USER)
    after = everything_in_data(old)
    assert after.keys() == before.keys()
    assert set(after.values()) == {(USER, USER)}
    assert old.run("cat", "/data/note") == (0, "note\n")
    assert old.run("sh", "-c", "echo more >> /data/note && echo > /data/deep/more")[0] == 0
    assert old.run("stat", "-c", "%u", "/etc", "/proc/1", "/bin/busybox")[1].split() == ["0", str(USER), "0"]
    assert helpers(old) == []


def test_a_handover_happens_once(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(old, generation=2, user=USER)
    monkeypatch.setattr(handover.Handover, "_make_helper", lambda _: pytest.fail("handed over again"))
    assert deploy(old, generation=3, user=USER).state is ContainerState.RUNNING


def test_a_running_agent_keeps_its_user_until_its_next_deploy(old: DockerUnderTest) -> None:
    assert deploy(old, user=USER).state is ContainerState.RUNNING  # adopted
    assert old.run("id", "-u") == (0, f"{AGENT_USER}\n")
    old.engine.stop(old.key, timeout=2)
    assert deploy(old, user=USER).state is ContainerState.RUNNING  # started as it is
    assert old.run("id", "-u") == (0, f"{AGENT_USER}\n")
    assert old.run("cat", "/data/note", "/run/secrets/agent_api_key") == (0, "note\nsk-1")
    assert set(everything_in_data(old).values()) == {(AGENT_USER, AGENT_USER)}
