"""A handover that takes long, is killed or meets another one continues, happens once,
and is never mistaken for an agent."""

import threading
from typing import Any

import pytest

from containers.docker.engine import DockerEngine
from containers.docker.lookup import Lookup
from containers.docker.volumes import handover
from containers.docker.volumes.data_directory import OwnDirectory
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.vocabulary import ContainerState
from containers.volume_containers import handover_payload
from tests.containers.docker.handing_over import USER, everything_in_data, helpers
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.rare(1)]


def begin_and_give_up_waiting(
    under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, *, script: str = "{}"
) -> str:
    """Begins a deploy that waits no longer. Returns the id of the handover's container,
    which continues once /go exists."""

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


def test_a_long_handover_continues_by_itself_and_starts_no_agent(
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


def test_a_later_deploy_waits_for_the_running_handover(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_container_that_cannot_be_found_yet_is_awaited(old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine reserves a name before a container of it can be found."""
    helper = begin_and_give_up_waiting(old, monkeypatch)
    look_up, unseen = Lookup.look_up, [None] * 5

    def find_late(lookup: Lookup, name_or_id: str) -> Any:
        if name_or_id == f"{old.name}-handover":
            if unseen:
                return unseen.pop()
            old.run("touch", "/go", name=helper)
        return look_up(lookup, name_or_id)

    monkeypatch.setattr(Lookup, "look_up", find_late)
    deploy(old, generation=2, user=USER)
    assert unseen == []
    assert set(everything_in_data(old).values()) == {(USER, USER)}


SOME_FILES = "cd /data && find . -maxdepth 1 -name 'file-*' -exec chown -h {0}:{0} {{{{}}}} + && chown -hR {0} deep/d/d"


@pytest.mark.parametrize("half", ["true", SOME_FILES])
def test_a_killed_handover_is_resumed(half: str, old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = begin_and_give_up_waiting(old, monkeypatch, script=half.format(USER) + "; touch /done; exec sleep 1000")
    old.run("touch", "/go", name=helper)
    wait_until(lambda: old.run("test", "-e", "/done", name=helper)[0] == 0)
    old.client.kill(helper)
    wait_until(lambda: not helpers(old))
    deploy(old, generation=2, user=USER)
    assert set(everything_in_data(old).values()) == {(USER, USER)}
    assert old.run("cat", "/data/note") == (0, "note\n")


def test_a_container_that_a_killed_process_has_left_is_used(
    docker_under_test: DockerUnderTest, closed_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(OwnDirectory, "give", lambda directory, *_: setattr(directory, "works", False))
    docker_under_test.engine = DockerEngine()  # a client that has to learn to do it another way
    with monkeypatch.context() as context:
        context.setattr(handover, "pack_directory", die)
        with pytest.raises(KilledError):
            deploy(docker_under_test, user=USER, image=closed_image)
    assert len(helpers(docker_under_test)) == 1
    assert deploy(docker_under_test, user=USER, image=closed_image).state is ContainerState.RUNNING
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


def test_a_foreign_container_is_left_alone(old: DockerUnderTest) -> None:
    foreign = old.foreign(f"{old.name}-handover", {})
    with pytest.raises(EngineRefusedError, match="not ours"):
        deploy(old, generation=2, user=USER)
    assert old.is_running(foreign)
    old.client.remove_container(foreign, force=True)


def test_a_handover_container_is_never_mistaken_for_an_agent(
    old: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no list of agents, so nothing adopts, stops or removes it as one."""
    helper = begin_and_give_up_waiting(old, monkeypatch)
    assert [seen.name for seen in old.engine.observe({})] == []
    confined = old.client.inspect_container(helper)
    assert confined["HostConfig"]["NetworkMode"] == "none"
    assert confined["HostConfig"]["CapDrop"] == ["ALL"]
    assert sorted(confined["HostConfig"]["CapAdd"]) == ["CHOWN", "DAC_READ_SEARCH", "FOWNER"]
    assert [mount["Name"] for mount in confined["Mounts"] if mount["Type"] == "volume"] == [f"{old.name}-data"]
    assert any(option.startswith("seccomp={") for option in confined["HostConfig"]["SecurityOpt"])
    assert "no-new-privileges:true" in confined["HostConfig"]["SecurityOpt"]
