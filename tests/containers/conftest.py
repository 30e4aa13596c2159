"""Engines under test: the one in memory, and the real Docker in a corner of its own that is swept afterwards."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import docker
import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.firewall.iptables import remove_rules
from tests.containers.rigs import DockerRig, MemoryRig, Rig
from tests.containers.rootfs import make_images
from tests.engines import connect


@dataclass
class Corner:
    """An instance name, a network and images that nobody else has."""

    name: str
    client: docker.APIClient
    engine: DockerEngine
    images: tuple[str, str]

    def settings(self) -> override_settings:
        return override_settings(BERTH_INSTANCE=self.name, BERTH_CONTAINER_NETWORK=f"{self.name}-agents")


@pytest.fixture(scope="session")
def docker_corner() -> Iterator[Corner]:
    name, client = f"t-{uuid4().hex[:8]}", connect()
    corner = Corner(name, client, DockerEngine(), make_images(client, name))
    yield corner
    with corner.settings():
        remove_rules()
    with suppress(docker.errors.NotFound):
        client.remove_network(f"{name}-agents")
    for image in corner.images:
        client.remove_image(image, force=True)
    client.close()


@pytest.fixture
def docker_rig(docker_corner: Corner) -> Iterator[DockerRig]:
    with docker_corner.settings():
        rig = DockerRig(docker_corner.engine, docker_corner.client, docker_corner.images)
        yield rig
        rig.clean_up()


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def rig(request: pytest.FixtureRequest) -> Rig:
    """Every engine in turn."""
    if request.param == "memory":
        return MemoryRig()
    found: DockerRig = request.getfixturevalue("docker_rig")
    return found
