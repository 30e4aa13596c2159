"""An agent's state is read as a whole and restored, on every engine."""

import itertools
from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.errors import EngineRefusedError, ImageMissingError
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL, USER_LABEL
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec
from tests.containers.memory_under_test import MemoryUnderTest
from tests.fakes.states import pack_state, unpack_state

FILES = {"history.db": "what was said", "notes/a": "b" * 100_000, "é ü": ""}


def write(under_test: EngineUnderTest, files: dict[str, str], *, image: str = "", volume: str = "") -> None:
    labels = {**own_labels(), PROJECT_LABEL: under_test.key, USER_LABEL: "20007"}
    content = pack_state(files, user=20007)
    pieces = (content[start : start + 1000] for start in range(0, len(content), 1000))
    under_test.engine.write_state(
        under_test.key,
        volume=volume or f"{under_test.name}-data",
        labels=labels,
        image=image or under_test.image,
        pieces=pieces,
    )


def read(under_test: EngineUnderTest) -> Iterator[bytes]:
    return under_test.engine.read_state(under_test.key, image=under_test.image)


def test_a_written_state_is_read_with_and_without_a_container(under_test: EngineUnderTest) -> None:
    assert list(read(under_test)) == []
    write(under_test, FILES)
    assert unpack_state(read(under_test)) == FILES
    assert under_test.engine.highest_user() == 20007
    assert under_test.id_of(under_test.name) is None
    deploy(under_test, user=20007)
    assert unpack_state(read(under_test)) == FILES
    under_test.engine.stop(under_test.key, timeout=2)
    assert unpack_state(read(under_test)) == FILES
    under_test.engine.remove(under_test.key, volumes=True)
    assert list(read(under_test)) == []
    assert under_test.volumes(under_test.name) == set()


def test_a_state_is_identical_each_time(under_test: EngineUnderTest) -> None:
    write(under_test, FILES)
    deploy(under_test, user=20007)
    assert b"".join(read(under_test)) == b"".join(read(under_test))


def test_a_volume_that_is_there_is_not_written_over(under_test: EngineUnderTest) -> None:
    write(under_test, FILES)
    with pytest.raises(EngineRefusedError):
        write(under_test, {"other": "files"})
    assert unpack_state(read(under_test)) == FILES


def test_a_reader_that_leaves_early_leaves_nothing_behind(under_test: EngineUnderTest) -> None:
    write(under_test, FILES)
    pieces = read(under_test)
    assert len(list(itertools.islice(pieces, 1))) == 1
    pieces.close()  # type: ignore[attr-defined]  # it is a generator
    under_test.engine.remove(under_test.key, volumes=True)
    assert under_test.volumes(under_test.name) == set()


def test_without_the_image_reading_is_refused(under_test: EngineUnderTest) -> None:
    with pytest.raises(ImageMissingError):
        write(under_test, FILES, image="berth/missing:latest")
    assert under_test.volumes(under_test.name) == set()


def test_the_state_of_another_installation_is_not_read(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    with override_settings(BERTH_INSTALLATION_SOURCE="tests.installations.theirs"):
        try:
            assert list(read(under_test)) == []
        except EngineRefusedError:
            assert under_test.volumes(under_test.name)


@pytest.mark.docker
def test_a_restored_state_belongs_to_the_agent_with_its_links_and_modes(docker_under_test: DockerUnderTest) -> None:
    """The agent can read and write it, as the user that it had."""
    write(docker_under_test, FILES)
    deploy(docker_under_test, user=20007)
    assert docker_under_test.run("cat", "/data/history.db") == (0, "what was said")
    assert docker_under_test.run("sh", "-c", "echo more >>/data/history.db; ln -s /etc/passwd /data/link")[0] == 0
    before = b"".join(read(docker_under_test))
    docker_under_test.engine.stop(docker_under_test.key, timeout=2)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    labels = {**own_labels(), PROJECT_LABEL: docker_under_test.key}
    docker_under_test.engine.write_state(
        docker_under_test.key,
        volume=f"{docker_under_test.name}-data",
        labels=labels,
        image=docker_under_test.image,
        pieces=[before],
    )
    assert b"".join(read(docker_under_test)) == before
    assert make_spec(docker_under_test).name == docker_under_test.name


@pytest.mark.docker
def test_remains_of_a_killed_process_block_nobody(docker_under_test: DockerUnderTest) -> None:
    """The container through which it reads, which keeps the volume in use."""
    write(docker_under_test, FILES)
    pieces = read(docker_under_test)
    next(pieces)
    assert unpack_state(read(docker_under_test)) == FILES
    left = read(docker_under_test)
    next(left)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    assert docker_under_test.volumes(docker_under_test.name) == set()


def test_a_copy_replaces_a_state_and_is_kept_until_it_is_dropped(under_test: EngineUnderTest) -> None:
    """It can be repeated, because an earlier attempt may have been interrupted."""
    engine, key = under_test.engine, under_test.key
    labels = {**own_labels(), PROJECT_LABEL: key}
    engine.write_state(
        key, volume=f"{under_test.name}-data", labels=labels, image=under_test.image, pieces=[pack_state({"a": "old"})]
    )
    engine.drop_copy(key)
    assert not engine.return_copy(key, image=under_test.image)  # there is none, and nothing happens
    for _ in range(2):
        engine.keep_copy(key, image=under_test.image, labels=labels)
    engine.remove(key)
    assert unpack_state(under_test.kept()) == {"a": "old"}
    assert len(under_test.volumes(under_test.name)) == 2
    for _ in range(2):
        assert engine.return_copy(key, image=under_test.image)
    assert unpack_state(under_test.kept()) == {"a": "old"}
    for _ in range(2):
        engine.drop_copy(key)
    assert under_test.volumes(under_test.name) == {f"{under_test.name}-data"}
    engine.keep_copy(key, image=under_test.image, labels=labels)
    engine.remove(key, volumes=True)
    assert under_test.volumes(under_test.name) == set()


def test_a_copy_outlasts_runs_of_the_agent_and_brings_back_what_they_changed(under_test: EngineUnderTest) -> None:
    """As in an update: the old version runs, the new one, and the old one with what it knew."""
    engine, key = under_test.engine, under_test.key
    files = {"history.db": "what was said", "é ü": "b" * 100_000}
    write(under_test, files)
    deploy(under_test, user=20007)
    engine.stop(key, timeout=2)
    engine.keep_copy(key, image=under_test.image, labels={**own_labels(), PROJECT_LABEL: key})
    deploy(under_test, user=20007, generation=2)
    under_test.forget()
    engine.stop(key, timeout=2)
    engine.remove(key)
    assert unpack_state(under_test.kept()) == {}
    assert engine.return_copy(key, image=under_test.image)
    deploy(under_test, user=20007, generation=3)
    engine.drop_copy(key)
    assert unpack_state(under_test.kept()) == files
    assert f"{under_test.name}-former" not in under_test.volumes(under_test.name)
    under_test.forget()
    assert unpack_state(under_test.kept()) == {}, "The files belong to the agent's user again."


def test_a_state_that_is_too_large_leaves_no_copy_and_stays(under_test: EngineUnderTest) -> None:
    if isinstance(under_test, MemoryUnderTest):
        pytest.skip("The engine in memory measures nothing.")
    engine, key = under_test.engine, under_test.key
    write(under_test, {"large": "x" * 100_000})
    with pytest.raises(EngineRefusedError, match="takes more than 0 MB to keep"):
        engine.keep_copy(key, image=under_test.image, labels={**own_labels(), PROJECT_LABEL: key}, most=90_000)
    engine.remove(key)
    assert not engine.return_copy(key, image=under_test.image)
    assert unpack_state(under_test.kept()) == {"large": "x" * 100_000}


def test_a_state_of_a_hundred_bytes_less_is_not_too_large(under_test: EngineUnderTest) -> None:
    engine, key = under_test.engine, under_test.key
    write(under_test, {"large": "x" * 100_000})
    engine.keep_copy(key, image=under_test.image, labels={**own_labels(), PROJECT_LABEL: key}, most=120_000)
    engine.remove(key)
    assert engine.return_copy(key, image=under_test.image)
