"""What Berth asks of a container engine about the gateway: a part of `containers.engine.Engine`."""

from collections.abc import Mapping
from typing import Protocol

from containers.gateway.transport import Transport
from containers.gateway.words import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.vocabulary import Observation


class RunsGateway(Protocol):
    def agents_network(self) -> AgentsNetwork:
        """The network of agents that have a fixed address (`ContainerSpec.address`). Makes it where it is missing.

        It stays the same as long as it exists. Where somebody has removed it another one takes its place, whose
        addresses may be others: `AgentsNetwork.has` tells whether one that was given before still counts.
        """

    def find_agents_network(self) -> AgentsNetwork | None:
        """The same network, or None where the engine answered that there is none."""

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        """Sees to it that the gateway runs, of this image and as the spec says, and returns where agents reach it.

        Costs two short calls where it does. Otherwise makes it, starts it, or puts a new one in the place of one that
        was made from another image, settings or key: what the gateway keeps stays, and agents miss it for as long as
        it takes to hand over. On return it answers. The one that runs goes on where there is no image, or where another
        one does not start (`GatewayAddress.warning`). Raises `ImageMissingError` where none runs and there is no image,
        and `GatewaySilentError` where none comes to answer.
        """

    def gateway(self) -> Transport:
        """The way to the control side of a single host's gateway, for `containers.gateway.protocol.GatewayClient`.

        Asks nothing of the engine yet. An exchange raises `EngineUnavailableError` while there is no gateway.
        """

    def gateways(self) -> Mapping[str, Transport]:
        """The ways to all gateways, by the ids of their nodes, but for nodes that are known to be lost.

        A single host has one gateway, and its node is "". Where there are several, an agent is let through by that of
        its own node alone, while its entry has a lease there.
        """

    def places(self) -> Mapping[str, str]:
        """The ids of the nodes on which agents run, or are wanted to, by the agents' keys. Empty on a single host."""

    def inspect_gateway(self) -> Observation | None:
        """The gateway's container, or None where the engine answered that there is none."""

    def remove_gateway(self, *, state: bool = False) -> None:
        """Removes the gateway and its key, and with `state` what it keeps. Does nothing where there is none."""
