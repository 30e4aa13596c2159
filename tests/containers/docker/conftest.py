"""A scripted engine on a socket of its own, and agents on a real engine whose volumes are handed over."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from containers.agent_contract import AGENT_USER
from containers.docker_api import client
from containers.docker_api.usable_images import UsableImages
from tests.busybox import pack_root
from tests.containers.docker.handing_over import HOSTILE, everything_in_data, helpers
from tests.containers.docker.scripted_engine import working_script
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.fakes.docker_socket import FaultySocket, faulty_socket


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """An engine on which everything works, with no container yet. Nobody looks into the image."""
    monkeypatch.setattr(UsableImages, "_look_into", lambda *_: "")
    monkeypatch.setattr(client, "CALL_LIMIT", 2.0)
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        server.script = working_script()
        yield server


@pytest.fixture
def old(docker_under_test: DockerUnderTest) -> Iterator[DockerUnderTest]:
    """An agent that ran as the user of all agents and has left every kind of file behind."""
    deploy(docker_under_test, pids=64, mode="silent")
    assert docker_under_test.run("sh", "-c", HOSTILE) == (0, "")
    assert set(everything_in_data(docker_under_test).values()) == {(AGENT_USER, AGENT_USER)}
    yield docker_under_test
    for helper in helpers(docker_under_test):
        docker_under_test.client.remove_container(helper["Id"], force=True)


@pytest.fixture
def image_with(docker_under_test: DockerUnderTest) -> Iterator[Any]:
    """Creates images of other root file systems."""
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


@pytest.fixture
def closed_image(image_with: Any) -> str:
    """An image in which only its own user may write to /data: each new volume has to be handed over."""
    root = pack_root(
        {"agent": "#!/bin/sh\nexec sleep 1000\n"},
        applets=["sh", "sleep", "stat", "id", "find", "chmod", "chown"],
        data_mode=0o700,
    )
    return str(image_with(root, 'CMD ["/agent"]', "ENV PATH=/bin"))
