"""A real Swarm of one or more nodes, with images, and the settings that make it Berth's engine."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from django.test import override_settings

from containers import get_engine
from containers.errors import EngineError
from containers.swarm.engine import SwarmEngine
from tests.containers.rootfs import make_images
from tests.containers.swarm.cluster import Cluster, SwarmNode
from tests.containers.swarm.under_test import ACCEPTED, SwarmUnderTest, make_config_network
from tests.waiting import wait_until

NAME = "t-swarm"
ENGINE_CLASS = "containers.swarm.engine.SwarmEngine"


@dataclass
class Swarm:
    cluster: Cluster
    engine: SwarmEngine
    images: tuple[str, str]

    @contextmanager
    def settings(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("DOCKER_HOST", self.cluster.manager.url)
        monkeypatch.setattr("containers.swarm.nodes.liveness.open_socket", self.cluster.open_socket)
        load = get_engine._load
        # The process would keep the engine of the first Swarm, and another module has a Swarm of its own.
        monkeypatch.setattr(get_engine, "_load", lambda path: self.engine if path == ENGINE_CLASS else load(path))
        chosen: dict[str, Any] = {
            "BERTH_INSTANCE": NAME,
            "BERTH_CONTAINER_NETWORK": f"{NAME}-agents",
            "BERTH_SWARM_ACCEPT": ACCEPTED,
        }
        with override_settings(**chosen):
            yield

    def revive(self, node: SwarmNode) -> None:
        """Starts a killed node again. Returns when the engine hears from it, which may take seconds."""
        self.cluster.revive(node)
        make_config_network(node.client, f"{NAME}-agents")
        wait_until(lambda: self._hears(node))

    def revive_ended(self) -> None:
        """Starts the manager again if its engine ended by itself, as a service manager does. Prints why it ended.

        Docker's Swarm crashes if a task disappears just while its service is removed (moby/swarmkit#3216).
        """
        manager = self.cluster.manager
        if not manager.is_there:
            print("The engine's last words:", manager.last_words(), sep="\n")  # noqa: T201 - pytest shows it
            self.revive(manager)

    def _hears(self, node: SwarmNode) -> bool:
        try:
            return node.node_id not in self.engine._lost()
        except EngineError:
            return False

    def under_test(self) -> SwarmUnderTest:
        return SwarmUnderTest(self.engine, self.cluster.manager.client, self.images)


@contextmanager
def some_nodes(count: int, *, heartbeat: float = 5.0, shared: bool = True, managers: int = 1) -> Iterator[Swarm]:
    """Each node has its part of the agents' network and the images; only the manager has images if not `shared`."""
    home = Path(mkdtemp(prefix="bs-"))  # short, as a socket's path has to be
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        cluster = Cluster(home, nodes=count, managers=managers)
        stack.callback(cluster.close)
        cluster.start(heartbeat=heartbeat)
        images = make_images(cluster.manager.client, NAME)
        if shared:
            cluster.share(images)
        for node in cluster.nodes:
            make_config_network(node.client, f"{NAME}-agents")
        yield Swarm(cluster, SwarmEngine(), images)


def one_node() -> Any:
    return some_nodes(1)
