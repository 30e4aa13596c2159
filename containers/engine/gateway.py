"""How an engine runs the gateway: a part of `containers.engine.Engine`."""

from collections.abc import Mapping
from typing import Protocol

from containers.gateway.transport import Transport
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.vocabulary import Observation


class RunsGateway(Protocol):
    def agents_network(self) -> AgentsNetwork:
        """Returns the network of agents with a fixed address (`ContainerSpec.address`). Creates it if it is missing.

        The network keeps its addresses for as long as it exists. If someone has removed it, the new network may have
        other addresses: `AgentsNetwork.has` says whether an address that was assigned earlier is still valid.
        """

    def find_agents_network(self) -> AgentsNetwork | None:
        """Returns the same network, or None if the engine answered that there is none."""

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        """Ensures that the gateway runs with the spec's image and settings, and returns where agents reach it.

        This takes two short calls if it already runs. Otherwise it creates it, starts it, or replaces one that was
        created from another image, other settings or another key. The gateway's data stays, and agents cannot reach it
        only during the handover. The gateway answers by the time this returns. If there is no image, or the new gateway
        does not start, the old one keeps running (`GatewayAddress.warning`). Raises `ImageMissingError` if none runs
        and there is no image, and `GatewaySilentError` if none answers.
        """

    def gateway(self) -> Transport:
        """Returns a transport to the control side of a single host's gateway, for `GatewayClient`.

        This makes no call to the engine yet. An exchange raises `EngineUnavailableError` while there is no gateway.
        """

    def gateways(self) -> Mapping[str, Transport]:
        """Returns the transports to all gateways by the ids of their nodes, without nodes that are known to be lost.

        A single host has one gateway, and its node is "". If there are several, only the gateway of an agent's own node
        lets it through, and only while the agent's entry has a lease there.
        """

    def places(self) -> Mapping[str, str]:
        """Returns the id of the node on which each agent runs or should run, by key. Empty on a single host."""

    def inspect_gateway(self) -> Observation | None:
        """Returns the gateway's container, or None if the engine answered that there is none."""

    def remove_gateway(self, *, state: bool = False) -> None:
        """Removes the gateway and its key, and with `state` its data too. Does nothing if there is none."""
