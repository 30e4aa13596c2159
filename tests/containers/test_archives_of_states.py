"""The archive of an agent's state is whole, and recognised if the agent has made it end too early."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from config.backup.memory_tar import CUT_OFF, Passing, find_flaw
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = pytest.mark.docker

LARGE = 64 << 20
"""Bytes of a file: more than the buffers between the engine and its client hold."""

CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "shortened": (lambda data: os.truncate(data / "m", 0), CUT_OFF),
    "grown": (lambda data: os.truncate(data / "m", 2 * LARGE), ""),
    "removed": (lambda data: (data / "m").unlink(), ""),
    "the next one shortened": (lambda data: os.truncate(data / "n", 0), ""),
    "the next one removed": (lambda data: (data / "n").unlink(), ""),
}
"""What an agent does while the engine is sending its file `m`, and what the archive's flaw is."""


@pytest.mark.parametrize("is_running", [True, False])
def test_an_archive_begins_with_the_directory_and_has_an_end(
    is_running: bool, docker_under_test: DockerUnderTest
) -> None:
    deploy(docker_under_test)
    if not is_running:
        docker_under_test.engine.stop(docker_under_test.key, timeout=2)
    pieces = b"".join(docker_under_test.engine.read_state(docker_under_test.key, image=docker_under_test.image))
    assert find_flaw(Passing([pieces], lambda _: None)) == ""
    assert find_flaw(Passing([pieces[:-512]], lambda _: None)) == CUT_OFF


@pytest.mark.parametrize("what", CHANGES)
def test_what_an_agent_does_to_a_file_that_is_being_copied_is_noticed(
    what: str, docker_under_test: DockerUnderTest
) -> None:
    """The files are changed from outside: meanwhile the engine runs no other command in the container."""
    change, flaw = CHANGES[what]
    deploy(docker_under_test)
    process = docker_under_test.client.inspect_container(docker_under_test.name)["State"]["Pid"]
    data = Path(f"/proc/{process}/root/data")
    for name, size in (("m", LARGE), ("n", 1000), ("z", 1000)):
        (data / name).touch()
        os.truncate(data / name, size)
    pieces = docker_under_test.engine.read_state(docker_under_test.key, image=docker_under_test.image)
    begun = list(itertools.islice(pieces, 2))
    change(data)
    assert find_flaw(Passing(itertools.chain(begun, pieces), lambda _: None)) == flaw
