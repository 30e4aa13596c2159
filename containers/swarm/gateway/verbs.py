"""The engine's verbs about networks and gateways, for a Swarm."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from ipaddress import IPv4Network

from django.conf import settings

from containers.docker_api.building.image_build import GATEWAY
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.firewall.node_script import CONFIG, split_subnet
from containers.gateway.transport import NOT_THERE, Transport
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.identity import gateway_network_name, network_name
from containers.swarm.gateway.conflicts import require_own_addresses
from containers.swarm.gateway.image_availability import find_image
from containers.swarm.gateway.node_gateways import NodeGateways
from containers.swarm.nodes.nodes import Node, list_nodes
from containers.swarm.placement.agent_nodes import find_places
from containers.vocabulary import Observation

NO_RULES = (
    "Berth does not see the firewall rules of a Swarm's nodes. On a node where the script that `manage.py node` prints "
    "has not been run, agents can reach the node's private networks (docs/swarm.md)."
)

NUMBERS = AgentsNetwork(subnet=IPv4Network("10.0.0.0/8"))
"""Nodes assign addresses to agents and report them to nobody. In a Swarm a project's address is only a number that
marks its agent as being behind a gateway. There are more numbers than a node has addresses."""


class GatewayVerbs:
    """Implements `containers.engine.gateway.RunsGateway`."""

    _lost: Callable[[], frozenset[str]]

    def __init__(self) -> None:
        super().__init__()
        self._connection = Connection()

    @cached_property
    def _gateways(self) -> NodeGateways:
        return NodeGateways(self._connection)

    def ensure_firewall(self) -> str | None:
        self._ensure_network(network_name())
        return NO_RULES

    def requires_firewall(self) -> bool:
        return False

    def probe_firewall(self) -> str | None:
        return None

    def limit_names(self, containers: Collection[str]) -> str | None:
        return None

    def find_agents_network(self) -> AgentsNetwork | None:
        return None

    def agents_network(self) -> AgentsNetwork:
        self._ensure_network(gateway_network_name())
        return NUMBERS

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        self._ensure_network(gateway_network_name())
        behind, _ = split_subnet(IPv4Network(settings.BERTH_SWARM_SUBNET))
        host = AgentsNetwork(subnet=behind).host
        image = find_image(self._connection, spec.image or GATEWAY.image)
        nodes, warning = self._gateways.ensure(spec, image=image, listens_at=host)
        known, drained = (
            frozenset(node.node_id for node in some) for some in (nodes, [each for each in nodes if each.is_drained])
        )
        return GatewayAddress(host=str(host), knows_sources=False, warning=warning, nodes=known, without=drained)

    def gateway(self) -> Transport:
        return _NoGateway()

    def gateways(self) -> Mapping[str, Transport]:
        lost = self._lost()
        nodes = [node for node in list_nodes(self._connection) if node.address and node.node_id not in lost]
        return {node.node_id: self._way_to(node) for node in nodes}

    def _way_to(self, node: Node) -> Transport:
        return self._gateways.way_to(node)

    def places(self) -> Mapping[str, str]:
        return find_places(self._connection)

    def inspect_gateway(self) -> Observation | None:
        return None

    def remove_gateway(self, *, state: bool = False) -> None:
        """Removes the gateways. Their data stays on the nodes, which a manager cannot reach."""
        self._gateways.remove()

    def _ensure_network(self, name: str) -> None:
        """Creates the network that each node builds from its own configuration, so that nodes share no addresses."""
        if self._has_network(name):
            return
        require_own_addresses(self._connection)
        payload = {"Name": name, "Driver": "bridge", "Scope": "swarm", "ConfigFrom": {"Network": f"{name}{CONFIG}"}}
        try:
            with self._connection.call() as client:
                client.create_network_from({"CheckDuplicate": True, **payload})
        except EngineError as error:
            if self._has_network(name):  # another deploy created it first, which some engines report as a failure
                return
            raise EngineRefusedError(
                f"The agents' network {name} cannot be created. Each node needs a network {name}{CONFIG} "
                f"(docs/swarm.md): {error}"
            ) from error

    def _has_network(self, name: str) -> bool:
        """Raises `EngineRefusedError` if the network of this name is not one that Berth made for a Swarm."""
        try:
            with self._connection.call() as client, understand_answer():
                found = client.inspect_network(name)
                is_ours = found["Scope"] == "swarm" and found["ConfigFrom"]["Network"] == f"{name}{CONFIG}"
        except MissingError:
            return False
        if not is_ours:
            raise EngineRefusedError(f"The network {name} was not created by Berth for a Swarm. Remove it.")
        return True


class _NoGateway:
    """Each node has its own gateway: see `gateways`."""

    def exchange(self, line: bytes, *, within: float) -> bytes:
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """Does nothing: no connection needs preparing."""
