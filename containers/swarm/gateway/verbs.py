"""The verbs of the Swarm engine that are about networks, and what there is not yet of them."""

from collections.abc import Collection
from contextlib import suppress

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.firewall.node import CONFIG
from containers.gateway.transport import NOT_THERE, Transport
from containers.gateway.words import AgentsNetwork, GatewayAddress, GatewaySpec
from containers.identity import network_name
from containers.vocabulary import Observation

NO_GATEWAY = "A Swarm has no gateway yet: set BERTH_GATEWAY=off."

NO_RULES = (
    "Berth does not see the firewall rules of a Swarm's nodes. Agents can reach what is near a node on which the "
    "script that `manage.py node` prints has not been run (docs/swarm.md)."
)


class GatewayVerbs:
    """Implements `containers.engine.gateway.RunsGateway`."""

    def __init__(self) -> None:
        super().__init__()
        self._connection = Connection()

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
        raise EngineRefusedError(NO_GATEWAY)

    def ensure_gateway(self, spec: GatewaySpec) -> GatewayAddress:
        raise EngineRefusedError(NO_GATEWAY)

    def gateway(self) -> Transport:
        return _NoGateway()

    def inspect_gateway(self) -> Observation | None:
        return None

    def remove_gateway(self, *, state: bool = False) -> None:
        """There is none."""

    def _ensure_network(self, name: str) -> None:
        """The network that each node makes of its own configuration, so that agents of two nodes share none."""
        with suppress(MissingError), self._connection.call() as client, understand_answer():
            found = client.inspect_network(name)
            if found["Scope"] == "swarm" and found["ConfigFrom"]["Network"] == f"{name}{CONFIG}":
                return
            raise EngineRefusedError(f"The network {name} is not one that Berth made for a Swarm. Remove it.")
        payload = {"Name": name, "Driver": "bridge", "Scope": "swarm", "ConfigFrom": {"Network": f"{name}{CONFIG}"}}
        try:
            with self._connection.call() as client:
                client.create_network_from({"CheckDuplicate": True, **payload})
        except ConflictError:
            return  # somebody else was faster
        except EngineError as error:
            raise EngineRefusedError(
                f"The agents' network {name} cannot be made. Each node needs a network {name}{CONFIG} (docs/swarm.md): "
                f"{error}"
            ) from error


class _NoGateway:
    def exchange(self, line: bytes, *, within: float) -> bytes:
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """There is nothing to prepare."""
