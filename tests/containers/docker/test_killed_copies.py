"""A copy of an agent's state that is too slow, or whose process is killed, blocks nobody, on a real engine."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from containers.docker.volumes import state
from containers.docker.volumes.state import State
from containers.docker_api.client import DockerClient
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.identity import own_labels
from containers.outbound.call_limits import seconds_left, time_limit
from containers.vocabulary import PROJECT_LABEL
from containers.volume_containers import carrier_payload
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.fakes.states import pack_state, unpack_state
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.rare(1)]

KEPT = {"memory": "what it knows"}


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def kept(docker_under_test: DockerUnderTest) -> DockerUnderTest:  # noqa: F811 - the fixture
    """A project with a state and without a container."""
    docker_under_test.engine.write_state(
        docker_under_test.key,
        volume=f"{docker_under_test.name}-data",
        labels=labels_of(docker_under_test),
        image=docker_under_test.image,
        pieces=[pack_state(KEPT)],
    )
    return docker_under_test


def labels_of(under_test: DockerUnderTest) -> dict[str, str]:
    return {**own_labels(), PROJECT_LABEL: under_test.key}


def keep(under_test: DockerUnderTest) -> None:
    under_test.engine.keep_copy(under_test.key, image=under_test.image, labels=labels_of(under_test))


def give_back(under_test: DockerUnderTest) -> None:
    under_test.engine.return_copy(under_test.key, image=under_test.image)


def helpers(under_test: DockerUnderTest) -> list[Any]:
    return list(under_test.client.containers(all=True, filters={"name": f"{under_test.name}-handover"}))


def content(under_test: DockerUnderTest) -> dict[str, str]:
    return unpack_state(under_test.engine.read_state(under_test.key, image=under_test.image))


def kill_inside(under_test: DockerUnderTest, act: Callable[[DockerUnderTest], None]) -> None:
    """Kills the process in the middle of the transfer: nothing after that happens."""

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DockerClient, "put_pieces", killed)
        patch.setattr(State, "_remove", lambda *_: None)
        with pytest.raises(Killed):
            act(under_test)
    assert len(helpers(under_test)) == 2


@pytest.mark.parametrize("killed_in", [keep, give_back])
def test_a_killed_copy_is_repeated_and_dropped(
    kept: DockerUnderTest, killed_in: Callable[[DockerUnderTest], None]
) -> None:
    keep(kept)
    kill_inside(kept, killed_in)
    if killed_in is keep:
        keep(kept)
        kill_inside(kept, keep)
        kept.engine.drop_copy(kept.key)
        assert kept.volumes(kept.name) == {f"{kept.name}-data"}
    else:
        give_back(kept)
    assert (content(kept), helpers(kept)) == (KEPT, [])


@pytest.mark.parametrize("killed_in", [keep, give_back])
def test_a_removal_after_a_killed_copy_removes_everything(
    kept: DockerUnderTest, killed_in: Callable[[DockerUnderTest], None]
) -> None:
    keep(kept)
    kill_inside(kept, killed_in)
    kept.engine.remove(kept.key, volumes=True)
    assert (kept.volumes(kept.name), helpers(kept)) == (set(), [])


def test_a_copy_that_exceeds_its_time_cleans_up(kept: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def be_slow(*_: Any, **__: Any) -> None:
        wait_until(lambda: (seconds_left() or 0) <= 0)
        raise EngineUnavailableError("The container engine did not answer in time.")

    monkeypatch.setattr(DockerClient, "put_pieces", be_slow)
    with time_limit(3.0), pytest.raises(EngineUnavailableError):
        keep(kept)
    assert helpers(kept) == []


@pytest.mark.parametrize("pieces", [[], [bytes(1024)]], ids=["nothing", "an empty archive"])
def test_an_empty_archive_does_not_count_as_a_copy(
    kept: DockerUnderTest, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]
) -> None:
    def read(*_: Any) -> Iterator[bytes]:
        yield from pieces

    monkeypatch.setattr(State, "_read_from", read)
    with pytest.raises(EngineRefusedError, match="could not be read"):
        keep(kept)
    monkeypatch.undo()
    assert content(kept) == KEPT


def test_a_copy_has_the_same_quota_as_its_source(kept: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the engine supports no quota, the copy has none. On XFS `test_hard_quota` checks the size itself."""
    asked: list[tuple[str, int]] = []

    def note(name: str, *, volume: str, size: int = 0, **options: Any) -> Any:
        asked.append((volume.removeprefix(f"{kept.name}-"), size))
        return carrier_payload(name, volume=volume, size=size, **options)

    monkeypatch.setattr(state, "size_of_volume", lambda *_: 1 << 26)
    monkeypatch.setattr(state, "carrier_payload", note)
    keep(kept)
    monkeypatch.setattr(kept.engine._quota, "_refused_until", 0.0)
    give_back(kept)
    assert [each for each in asked if each[1]] == [("former", 1 << 26), ("data", 1 << 26)]
    assert content(kept) == KEPT


def test_a_large_state_is_copied_and_a_too_large_one_leaves_nothing(
    kept: DockerUnderTest,
) -> None:
    deploy(kept)
    assert kept.run("sh", "-c", "dd if=/dev/zero of=/data/large bs=1M count=12; echo said >/data/said")[0] == 0
    kept.engine.stop(kept.key, timeout=1)
    keep(kept)
    kept.engine.remove(kept.key)
    give_back(kept)
    assert len(content(kept)["large"]) == 12 << 20
    with pytest.raises(EngineRefusedError, match="more than 11 MB to keep"):
        kept.engine.keep_copy(kept.key, image=kept.image, labels=labels_of(kept), most=11 << 20)
    assert f"{kept.name}-former" not in kept.volumes(kept.name)
    assert helpers(kept) == []


def test_a_running_backup_and_a_copy_do_not_disturb_each_other(kept: DockerUnderTest) -> None:
    pieces = kept.engine.read_state(kept.key, image=kept.image)
    first = next(iter(pieces))
    keep(kept)
    assert unpack_state([first, *pieces]) == KEPT
    assert len(kept.volumes(kept.name)) == 2
