"""Engines under test: the engine in memory,
and a real Docker on which everything that tests create is removed at the end."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import docker
import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest
from tests.containers.memory_under_test import MemoryUnderTest
from tests.containers.proxied import socket_proxy
from tests.containers.rootfs import make_images
from tests.containers.swarm.differences import skip_where_a_swarm_differs
from tests.containers.swarm.one_node import Swarm, one_node
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.engines import connect
from tests.gateway.image import ensure_gateway_image
from tests.instances import note_instance
from tests.leftovers import remove_from_engine
from tests.sampling import Some

_HERE = Path(__file__).parent
_PROXIED = {*_HERE.glob("test_*.py"), _HERE / "docker/test_report_streams.py"}


@dataclass
class Installation:
    """An instance name, a network and images that nobody else has."""

    name: str
    client: docker.APIClient
    engine: DockerEngine
    images: tuple[str, str]

    def settings(self) -> override_settings:
        return override_settings(BERTH_INSTANCE=self.name, BERTH_CONTAINER_NETWORK=f"{self.name}-agents")


@pytest.fixture(scope="session")
def docker_installation() -> Iterator[Installation]:
    name, client = note_instance(f"t-{uuid4().hex[:8]}"), connect()
    installation = Installation(name, client, DockerEngine(), make_images(client, name))
    yield installation
    remove_from_engine(name)
    client.close()


@pytest.fixture(scope="session")
def proxied_engine(
    docker_installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DockerEngine]:
    """The same engine behind the socket proxy."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        folder = tmp_path_factory.mktemp("proxy")
        address = stack.enter_context(socket_proxy(folder, instance=docker_installation.name))
        patch.setenv("DOCKER_HOST", address)
        engine = DockerEngine()
        engine.ping()  # from now on it has its connections
        patch.undo()
        yield engine


@pytest.fixture
def docker_under_test(
    docker_installation: Installation, request: pytest.FixtureRequest, some: Some
) -> Iterator[DockerUnderTest]:
    """Half of the contract tests reach it through the socket proxy: those in this folder, and those of streams that are
    requested without docker-py. Each commit chooses another half; with `--socket-proxy` all of them do."""
    is_chosen = crc32(request.node.nodeid.encode(), some.seed) % 2 or request.config.getoption("--socket-proxy")
    is_proxied = is_chosen and request.path in _PROXIED
    engine = request.getfixturevalue("proxied_engine") if is_proxied else docker_installation.engine
    with docker_installation.settings():
        under_test = DockerUnderTest(engine, docker_installation.client, docker_installation.images)
        yield under_test
        under_test.clean_up()


@pytest.fixture
def with_gateway(under_test: EngineUnderTest) -> Iterator[EngineUnderTest]:
    """Every engine in turn, with the gateway's image. No gateway runs before or after the test."""
    if isinstance(under_test, DockerUnderTest):
        ensure_gateway_image(under_test.client)
    yield under_test
    under_test.engine.remove_gateway()
    if isinstance(under_test, DockerUnderTest):
        under_test.clean_up()
    under_test.engine.remove_gateway(state=True)


@pytest.fixture(scope="session")
def swarm_installation() -> Iterator[Swarm]:
    """A Swarm of one node, with an engine of the tests' own."""
    with one_node() as swarm:
        yield swarm


@pytest.fixture
def swarm_under_test(swarm_installation: Swarm, monkeypatch: pytest.MonkeyPatch) -> Iterator[SwarmUnderTest]:
    with swarm_installation.settings(monkeypatch):
        under_test = swarm_installation.under_test()
        yield under_test
        swarm_installation.revive_ended()
        under_test.clean_up()


@pytest.fixture(
    params=[
        "memory",
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("swarm", marks=[pytest.mark.docker, pytest.mark.rare(10)]),
    ]
)
def under_test(request: pytest.FixtureRequest) -> EngineUnderTest:
    """Every engine in turn."""
    if request.param == "memory":
        return MemoryUnderTest()
    if request.param == "swarm":
        skip_where_a_swarm_differs(request)
        on_swarm: EngineUnderTest = request.getfixturevalue("swarm_under_test")
        return on_swarm
    found: DockerUnderTest = request.getfixturevalue("docker_under_test")
    return found
