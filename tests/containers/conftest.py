"""Engines under test: the one in memory, and the real Docker in a corner of its own that is swept afterwards."""

from collections.abc import Iterator
from contextlib import suppress
from uuid import uuid4

import docker
import pytest
from django.test import override_settings

from containers.docker_engine import DockerEngine
from containers.firewall import remove_rules
from tests.containers.rigs import DockerRig, MemoryRig, Rig
from tests.containers.rootfs import make_images


@pytest.fixture(scope="session")
def docker_corner() -> Iterator[DockerRig]:
    """A Docker engine with an instance name, a network and images that nobody else has."""
    corner = f"t-{uuid4().hex[:8]}"
    client = docker.APIClient()
    with override_settings(BERTH_INSTANCE=corner, BERTH_CONTAINER_NETWORK=f"{corner}-agents"):
        images = make_images(client, corner)
        rig = DockerRig(DockerEngine(), client, images)
        yield rig
        rig.clean_up()
        remove_rules()
        with suppress(docker.errors.NotFound):
            client.remove_network(f"{corner}-agents")
        for image in images:
            client.remove_image(image, force=True)
        client.close()


@pytest.fixture
def docker_rig(docker_corner: DockerRig) -> Iterator[DockerRig]:
    client, images = docker_corner.client, (docker_corner.image, docker_corner.probed_image)
    corner = docker_corner.name.rpartition("-")[0]
    instance = "-".join(corner.split("-")[:2])
    with override_settings(BERTH_INSTANCE=instance, BERTH_CONTAINER_NETWORK=f"{instance}-agents"):
        rig = DockerRig(docker_corner.engine, client, images)
        yield rig
        rig.clean_up()


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def rig(request: pytest.FixtureRequest) -> Rig:
    """Every engine in turn."""
    if request.param == "memory":
        return MemoryRig()
    found: DockerRig = request.getfixturevalue("docker_rig")
    return found
