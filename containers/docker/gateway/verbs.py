"""The Docker engine's methods for the firewall and the gateway."""

from collections.abc import Callable, Mapping
from functools import partial

from containers.docker.gateway.egress import Egress
from containers.docker.gateway.gateway import Gateway
from containers.docker.gateway.networks import ensure_agents_network, read_agents_network
from containers.docker.networks.agents import ensure_network
from containers.docker_api.client import Connection
from containers.docker_api.read_limits import start_in_thread
from containers.errors import AddressUnusableError, FirewallMissingError
from containers.gateway.transport import Transport
from containers.gateway.vocabulary import AgentsNetwork, GatewayAddress, GatewaySpec, Reach
from containers.vocabulary import ContainerSpec, Observation


class GatewayVerbs:
    """Implements `containers.engine.gateway.RunsGateway`, and the checks before each deploy."""

    def __init__(self, host: str = "") -> None:
        self._connection = Connection(host)
        self._egress = Egress(self._connection)
        self._gateway = Gateway(self._connection)

    def requires_firewall(self) -> bool:
        return self._egress.is_required()

    def probe_firewall(self) -> str | None:
        return self._egress.probe()

    def find_agents_network(self) -> AgentsNetwork | None:
        return read_agents_network(self._connection, with_way=True)

    def agents_network(self) -> AgentsNetwork:
        return ensure_agents_network(self._connection)

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        ensure_agents_network(self._connection)  # before its rules
        return self._gateway.ensure(spec, has_rules=self._egress.holds())

    def gateway(self) -> Transport:
        return self._gateway

    def gateways(self) -> Mapping[str, Transport]:
        return {"": self._gateway}

    def places(self) -> Mapping[str, str]:
        return {}

    def inspect_gateway(self) -> Observation | None:
        return self._gateway.inspect()

    def remove_gateway(self, *, state: bool = False) -> None:
        self._gateway.remove(state=state)

    def _admit(self, spec: ContainerSpec) -> Callable[[], bool]:
        """Returns a function that returns True once the rules for this spec's network exist: call it before the start.

        Meanwhile the engine can create the container. Raises `AddressUnusableError` if the address is not in that
        network.
        """
        if spec.address is not None:
            network = ensure_agents_network(self._connection)
            if not network.has(spec.address, spec.reach):
                raise AddressUnusableError(
                    f"The address {spec.address} is not one of the agents' network {network.subnet}."
                )
        require = partial(self._require_rules, spec.reach)
        if self._egress.was_seen_to:
            return start_in_thread(require)
        return partial(bool, require())

    def _require_rules(self, reach: Reach) -> bool:
        self._egress.require()
        if reach is Reach.GATEWAY and not self._egress.holds():
            raise FirewallMissingError
        return True

    def _restore_network(self, spec: ContainerSpec) -> bool:
        """Creates the network of this spec if it is missing, and returns whether it did."""
        if spec.address is None:
            return ensure_network(self._connection)
        if read_agents_network(self._connection):
            return False
        self._admit(spec)()
        return True
