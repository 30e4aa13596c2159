"""Two installations on one real Swarm: each says which setting must differ, and neither sees the other's agents."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import override_settings

from containers.docker_api.building.image_build import GATEWAY
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.firewall.node_script import CONFIG
from containers.gateway.protocol import GatewayClient
from containers.gateway.vocabulary import GatewaySpec
from containers.identity import container_name, network_name
from containers.programs import is_root
from containers.swarm.engine import SwarmEngine
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.engines import connect
from tests.gateway.image import ensure_gateway_image
from tests.gateway.of_nodes.world import run_node_script
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.rare(12),
    pytest.mark.skipif(not is_root(), reason="takes the right to make networks"),
]

SECOND: dict[str, Any] = {
    "BERTH_INSTANCE": "t-second",
    "BERTH_CONTAINER_NETWORK": "t-second-agents",
    "BERTH_INSTALLATION_SOURCE": f"{__name__}.second_id",
}
ADDRESSES, PORT = {"BERTH_SWARM_SUBNET": "10.232.0.0/20"}, {"BERTH_SWARM_GATEWAY_PORT": 8444}


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Swarm]:
    usual = connect()
    ensure_gateway_image(usual)
    usual.close()
    with some_nodes(1) as found:
        found.cluster.load([GATEWAY.image])
        monkeypatch.setattr("containers.gateway.tls_transport.open_socket", found.cluster.open_socket)
        with found.settings(monkeypatch):
            found.cluster.manager.client.remove_network(f"{network_name()}{CONFIG}")  # which is not that of the script
            yield found


class Installation:
    def __init__(self, swarm: Swarm) -> None:
        self.swarm, self.engine = swarm, SwarmEngine()
        self.spec = GatewaySpec(key=Fernet.generate_key().decode())
        self.under_test = swarm.under_test()
        self.under_test.engine = self.engine

    def prepare(self) -> None:
        run_node_script(self.swarm.cluster.manager)
        self.engine.ensure_gateway(self.spec)

    def begin(self) -> None:
        self.prepare()
        deploy(self.under_test, name=container_name(self.under_test.key))

    def is_alone(self) -> bool:
        """Returns whether its own agent runs, it sees no other agent, and its gateway answers."""
        seen = [(each.key, each.state) for each in self.engine.observe({})]
        [way] = self.engine.gateways().values()
        with suppress(EngineUnavailableError):
            return GatewayClient(way).is_ready() and seen == [(self.under_test.key, ContainerState.RUNNING)]
        return False


def test_both_work_once_each_has_addresses_and_a_port_of_its_own(swarm: Swarm) -> None:
    first, second = Installation(swarm), Installation(swarm)
    first.begin()
    wait_until(first.is_alone, within=120, every=1)
    with override_settings(**SECOND):
        with pytest.raises(subprocess.CalledProcessError):  # the script says so on the node
            run_node_script(swarm.cluster.manager)
        with pytest.raises(EngineRefusedError, match="Set BERTH_SWARM_SUBNET"):
            second.engine.ensure_gateway(second.spec)
        with override_settings(**ADDRESSES):
            with pytest.raises(EngineRefusedError, match="Set BERTH_SWARM_GATEWAY_PORT"):
                second.prepare()
            with override_settings(**PORT):
                second.begin()
                wait_until(second.is_alone, within=120, every=1)
    wait_until(first.is_alone, within=120, every=1)
    with override_settings(**SECOND, **ADDRESSES, **PORT):
        second.engine.remove(second.under_test.key, volumes=True)
        second.engine.remove_gateway()
        assert second.engine.observe({}) == []
    wait_until(first.is_alone, within=120, every=1)


def second_id() -> str:
    return "the-second-installation"
