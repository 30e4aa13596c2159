"""Each agent's state is its own user's: a new volume, and one that was made before agents had users of their own."""

import io
import tarfile
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from containers.agent_contract import AGENT_USER
from containers.docker import handover
from containers.docker.lookup import Lookup
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.vocabulary import ContainerState
from containers.volume_containers import HANDOVER_LABEL, handover_payload
from tests.busybox import pack_root
from tests.containers.engine_fixtures import DockerUnderTest, deploy
from tests.waiting import wait_until

pytestmark = pytest.mark.docker
USER = 1_900_000_123

HOSTILE = r"""
cd /data; b=/bin/busybox
echo note > note; $b mkdir -p closed/inner; echo x > closed/inner/x; $b chmod 0 closed/inner closed
$b ln -s /etc/target to-file; $b ln -s /etc to-directory; $b ln -s /nowhere nowhere; $b ln -s . itself
$b ln -s /proc/1/root root; $b ln note second-name; $b mkfifo pipe; echo > -R; echo > "two
lines"; echo > "*"; echo > .hidden; $b mkdir .hidden-directory; echo > .hidden-directory/x; echo > setuid
$b chmod 6755 setuid
$b mkdir deep; cd deep; for n in $(seq 200); do $b mkdir d; cd d; done; echo > end
cd /data; for n in $(seq 300); do echo $n > file-$n; done
"""


def everything_in_data(under_test: DockerUnderTest) -> dict[str, tuple[int, int]]:
    """Each path of the volume with its owner and group."""
    chunks, _ = under_test.client.get_archive(under_test.name, "/data")
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        return {member.name: (member.uid, member.gid) for member in archive.getmembers()}


def helpers(under_test: DockerUnderTest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = under_test.client.containers(all=True, filters={"label": HANDOVER_LABEL})
    return [each for each in found if each["Labels"][HANDOVER_LABEL].startswith(f"{under_test.name}:")]


@pytest.fixture
def old(docker_under_test: DockerUnderTest) -> Iterator[DockerUnderTest]:
    """An agent that ran as everybody's user and has left behind what it could think of."""
    deploy(docker_under_test, pids=64, mode="silent")
    assert docker_under_test.run("sh", "-c", HOSTILE) == (0, "")
    assert set(everything_in_data(docker_under_test).values()) == {(AGENT_USER, AGENT_USER)}
    yield docker_under_test
    for helper in helpers(docker_under_test):
        docker_under_test.client.remove_container(helper["Id"], force=True)


@pytest.fixture
def image_with(docker_under_test: DockerUnderTest) -> Iterator[Any]:
    """Makes images of other root file systems."""
    made: list[str] = []

    def make(root: bytes, *commands: str) -> str:
        image = f"berth-test/other:{uuid4().hex[:8]}"
        repository, _, tag = image.partition(":")
        docker_under_test.client.import_image_from_data(root, repository=repository, tag=tag, changes=[*commands])
        made.append(image)
        return image

    yield make
    docker_under_test.clean_up()
    for image in made:
        docker_under_test.client.remove_image(image, force=True)


def test_a_new_volume_is_the_agents_own(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, user=USER)
    assert docker_under_test.run("id", "-u") == (0, f"{USER}\n")
    assert docker_under_test.run("id", "-g") == (0, f"{USER}\n")
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/data") == (0, f"{USER} {USER} 700\n")
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x && echo fine > /run/agent/x")[0] == 0
    assert docker_under_test.run("stat", "-c", "%u %g %a", "/run/secrets/agent_api_key") == (0, f"0 {USER} 440\n")
    assert docker_under_test.run("cat", "/run/secrets/agent_api_key") == (0, "sk-1")
    assert helpers(docker_under_test) == []


def test_an_image_without_a_shell_runs_as_any_user(docker_under_test: DockerUnderTest, image_with: Any) -> None:
    image = image_with(pack_root({}, applets=["sleep"]), 'CMD ["/bin/sleep", "1000"]')
    assert deploy(docker_under_test, user=USER, image=image).state is ContainerState.RUNNING
    assert everything_in_data(docker_under_test) == {"data": (USER, USER)}


def test_what_the_image_brings_along_is_the_agents_too(docker_under_test: DockerUnderTest, image_with: Any) -> None:
    seeded = pack_root(
        {"agent": "#!/bin/sh\nexec sleep 1000\n", "data/seed": "x"}, applets=["sh", "sleep", "find", "chown"]
    )
    deploy(docker_under_test, user=USER, image=image_with(seeded, 'CMD ["/agent"]', "ENV PATH=/bin"))
    assert everything_in_data(docker_under_test) == {"data": (USER, USER), "data/seed": (USER, USER)}


def test_without_a_program_for_it_the_deploy_is_refused_and_says_what_to_do(
    docker_under_test: DockerUnderTest, image_with: Any
) -> None:
    seeded = image_with(pack_root({"data/seed": "x"}, applets=["sleep"]), 'CMD ["/bin/sleep", "1000"]')
    with pytest.raises(EngineRefusedError, match=f"needs sh, find and chown.*{USER}"):
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


def test_it_happens_once(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(old, generation=2, user=USER)
    monkeypatch.setattr(handover.Handover, "_make_helper", lambda _: pytest.fail("handed over again"))
    assert deploy(old, generation=3, user=USER).state is ContainerState.RUNNING


def test_an_agent_that_runs_keeps_its_user_until_its_next_deploy(old: DockerUnderTest) -> None:
    assert deploy(old, user=USER).state is ContainerState.RUNNING  # adopted
    assert old.run("id", "-u") == (0, f"{AGENT_USER}\n")
    old.engine.stop(old.key, timeout=2)
    assert deploy(old, user=USER).state is ContainerState.RUNNING  # started as it is
    assert old.run("id", "-u") == (0, f"{AGENT_USER}\n")
    assert old.run("cat", "/data/note", "/run/secrets/agent_api_key") == (0, "note\nsk-1")
    assert set(everything_in_data(old).values()) == {(AGENT_USER, AGENT_USER)}


def begin_and_give_up_waiting(
    under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, *, script: str = "{}"
) -> str:
    """A deploy that waits no longer. Returns the id of the handover's container, which goes on once /go is there."""

    def payload(*args: Any, **options: Any) -> dict[str, Any]:
        made = handover_payload(*args, **options)
        shell, option, original, *arguments = made["Entrypoint"]
        waiting = "until test -e /go; do sleep 0.1; done; " + script.format(original)
        return made | {"Entrypoint": [shell, option, waiting, *arguments]}

    with monkeypatch.context() as context:
        context.setattr(handover, "WAIT_LIMIT", 0.0)
        context.setattr(handover, "handover_payload", payload)
        with pytest.raises(EngineUnavailableError, match="still being handed"):
            deploy(under_test, generation=2, user=USER)
    [helper] = helpers(under_test)
    return str(helper["Id"])


def test_what_takes_long_goes_on_by_itself_and_starts_nothing(
    old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = begin_and_give_up_waiting(old, monkeypatch)
    assert old.id_of(old.name) is None
    assert f"{old.name}-data" in old.volumes(old.name)
    old.run("touch", "/go", name=helper)
    wait_until(lambda: not helpers(old))
    monkeypatch.setattr(handover.Handover, "_make_helper", lambda _: pytest.fail("handed over again"))
    deploy(old, generation=2, user=USER)
    assert set(everything_in_data(old).values()) == {(USER, USER)}


def test_a_later_deploy_waits_for_the_one_that_goes_on(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = begin_and_give_up_waiting(old, monkeypatch)
    read, is_let_go = Lookup.read, threading.Event()

    def read_and_let_go(lookup: Lookup, name_or_id: str) -> Any:
        if name_or_id == helper and not is_let_go.is_set():
            old.run("touch", "/go", name=helper)
            is_let_go.set()
        return read(lookup, name_or_id)

    monkeypatch.setattr(Lookup, "read", read_and_let_go)
    deploy(old, generation=2, user=USER)
    assert is_let_go.is_set()
    assert set(everything_in_data(old).values()) == {(USER, USER)}
    assert helpers(old) == []


SOME_FILES = "cd /data && find . -maxdepth 1 -name 'file-*' -exec chown -h {0}:{0} {{{{}}}} + && chown -hR {0} deep/d/d"


@pytest.mark.parametrize("half", ["true", SOME_FILES])
def test_a_handover_that_was_killed_is_taken_up_again(
    half: str, old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = begin_and_give_up_waiting(old, monkeypatch, script=half.format(USER) + "; touch /done; exec sleep 1000")
    old.run("touch", "/go", name=helper)
    wait_until(lambda: old.run("test", "-e", "/done", name=helper)[0] == 0)
    old.client.kill(helper)
    wait_until(lambda: not helpers(old))
    deploy(old, generation=2, user=USER)
    assert set(everything_in_data(old).values()) == {(USER, USER)}
    assert old.run("cat", "/data/note") == (0, "note\n")


def test_a_container_that_a_killed_process_has_left_is_used(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as context:
        context.setattr(handover, "_pack_directory", die)
        with pytest.raises(KilledError):
            deploy(docker_under_test, user=USER)
    assert len(helpers(docker_under_test)) == 1
    assert deploy(docker_under_test, user=USER).state is ContainerState.RUNNING
    assert everything_in_data(docker_under_test) == {"data": (USER, USER)}
    assert helpers(docker_under_test) == []


def test_two_deploys_at_once_hand_over_together(old: DockerUnderTest) -> None:
    states: list[ContainerState] = []
    both = [
        threading.Thread(target=lambda: states.append(deploy(old, generation=2, user=USER).state)) for _ in range(2)
    ]
    for each in both:
        each.start()
    for each in both:
        each.join(60)
    assert states == [ContainerState.RUNNING] * 2
    assert set(everything_in_data(old).values()) == {(USER, USER)}
    assert helpers(old) == []


def test_a_removal_ends_a_handover(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_and_give_up_waiting(old, monkeypatch)
    old.engine.remove(old.key, volumes=True)
    assert old.volumes(old.name) == set()
    assert helpers(old) == []


def test_a_container_of_somebody_else_is_left_alone(old: DockerUnderTest) -> None:
    foreign = old.foreign(f"{old.name}-handover", {})
    with pytest.raises(EngineRefusedError, match="not ours"):
        deploy(old, generation=2, user=USER)
    assert old.is_running(foreign)
    old.client.remove_container(foreign, force=True)


def test_it_is_no_agent_and_none_can_take_it_for_one(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in no list of agents, so that nothing adopts, stops or removes it as one."""
    helper = begin_and_give_up_waiting(old, monkeypatch)
    assert [seen.name for seen in old.engine.observe({})] == []
    confined = old.client.inspect_container(helper)
    assert confined["HostConfig"]["NetworkMode"] == "none"
    assert confined["HostConfig"]["CapDrop"] == ["ALL"]
    assert sorted(confined["HostConfig"]["CapAdd"]) == ["CHOWN", "DAC_READ_SEARCH", "FOWNER"]
    assert [mount["Name"] for mount in confined["Mounts"] if mount["Type"] == "volume"] == [f"{old.name}-data"]
    assert any(option.startswith("seccomp={") for option in confined["HostConfig"]["SecurityOpt"])
    assert "no-new-privileges:true" in confined["HostConfig"]["SecurityOpt"]
