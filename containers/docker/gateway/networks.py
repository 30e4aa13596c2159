"""The gateway's two networks: the agents' network, with fixed addresses, and its own network to the outside."""

from ipaddress import IPv4Network
from typing import Any

from django.conf import settings

from containers.docker.gateway.payload import LABEL, WAY_LABEL, Way
from containers.docker.gateway.rows import is_gateway
from containers.docker.networks.new_networks import (
    BRIDGE,
    find_free_subnet,
    find_or_make,
    inspect_network,
    network_payload,
)
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.bridge import exit_bridge_name, gateway_bridge_name, trial_bridge_name
from containers.firewall.gateway_openings import Passage, note_passage, passage_of
from containers.gateway.vocabulary import PORT, AgentsNetwork, Reach
from containers.identity import exit_network_name, gateway_network_name, is_labelled

_LARGEST, _SMALLEST = 21, 26
"""Bits of the network's prefix. In a larger network, each agent could fill as many entries of the kernel's neighbour
table as there are addresses. This network has 1,022 addresses for agents of one reach, and 510 for the other."""

_EXIT_BITS = 29
"""Enough addresses for the gateway and its replacement."""


def read_agents_network(connection: Connection, *, with_way: bool = False) -> AgentsNetwork | None:
    """Returns the agents' network, or None. Also notes for the firewall which traffic its rules must let through.

    With `with_way`, finds out by which way agents reach the gateway; otherwise this is as it was found before. Raises
    `EngineRefusedError` for a network of this name that this installation has not created.
    """
    found = inspect_network(connection, gateway_network_name())
    if found is None:
        note_passage(gateway_bridge_name(), None)
        return None
    with understand_answer():
        options, labels = found["Options"] or {}, found["Labels"] or {}
        is_ours = is_labelled(labels) and options.get(f"{BRIDGE}.name") == gateway_bridge_name()
        is_right = is_ours and options.get(f"{BRIDGE}.enable_icc") == "false"
        network = AgentsNetwork(subnet=IPv4Network(found["IPAM"]["Config"][0]["Subnet"])) if is_right else None
    if network is None:
        message = f"The network {gateway_network_name()} was not created by this installation. Remove it."
        raise EngineRefusedError(message)
    alone = str(network.addresses(Reach.GATEWAY))
    known = passage_of(gateway_bridge_name())
    is_published = _is_published(connection) if with_way else known is not None and bool(known.published)
    published = str(network.host) if is_published else ""
    passage = Passage(gateway=str(network.gateway), port=PORT, alone=alone, published=published)
    note_passage(gateway_bridge_name(), passage)
    return network


def _is_published(connection: Connection) -> bool:
    """Returns whether agents reach the gateway by a port of the host, because it began without rules."""
    filters = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}", f"{WAY_LABEL}={Way.PORT}"]}
    with connection.call() as client, understand_answer():
        return any(map(is_gateway, client.containers(all=True, filters=filters)))


def ensure_agents_network(connection: Connection) -> AgentsNetwork:
    """Returns the agents' network, and creates it if it is missing."""

    def make() -> None:
        free = _find_subnet(connection)
        # Engines have only about thirty subnets. The gateway's exit network takes the addresses right after this part.
        subnet = next(free.subnets(new_prefix=max(_LARGEST, free.prefixlen + 1)))
        with connection.call() as client:
            client.create_network_from(_agents_payload(AgentsNetwork(subnet=subnet)))

    return find_or_make(lambda: read_agents_network(connection), make)


def ensure_exit_network(connection: Connection, agents: AgentsNetwork) -> None:
    """Creates the gateway's exit network if it is missing. Raises `EngineRefusedError` if it is not ours."""
    behind = IPv4Network((int(agents.subnet.broadcast_address) + 1, _EXIT_BITS))
    chosen = {"IPAM": {"Driver": "default", "Config": [{"Subnet": str(behind), "Gateway": str(behind[1])}]}}
    # If these addresses are taken, the engine chooses others.
    ways = iter([chosen])

    def make() -> None:
        with connection.call() as client:
            client.create_network_from(network_payload(exit_network_name(), exit_bridge_name()) | next(ways, {}))

    find_or_make(lambda: _read_exit_network(connection), make)


def _read_exit_network(connection: Connection) -> bool | None:
    found = inspect_network(connection, exit_network_name())
    if found is None:
        return None
    with understand_answer():
        is_ours = is_labelled(found["Labels"] or {})
    if not is_ours:
        message = f"The network {exit_network_name()} was not created by this installation. Remove it."
        raise EngineRefusedError(message)
    return True


def remove_networks(connection: Connection) -> None:
    """Removes the gateway's networks that are ours and unused. The agents' network stays while an agent is on it."""
    for name in (exit_network_name(), gateway_network_name()):
        found = inspect_network(connection, name)
        if found is None or not is_labelled(found.get("Labels") or {}):
            continue
        try:
            with connection.call() as client:
                client.remove_network(str(found["Id"]))
        except (MissingError, EngineRefusedError):
            continue


def _find_subnet(connection: Connection) -> IPv4Network:
    """Returns a subnet that the engine chooses. It must be named explicitly, or the engine assigns no fixed addresses.

    Raises `EngineRefusedError`.
    """
    subnet = find_free_subnet(connection, name=f"{gateway_network_name()}-trial", bridge=trial_bridge_name())
    if subnet.prefixlen > _SMALLEST:
        message = f"The engine's networks are too small for agents: it gave {subnet}. See its default-address-pools."
        raise EngineRefusedError(message)
    return subnet


def _agents_payload(network: AgentsNetwork) -> dict[str, Any]:
    shares = {"Subnet": str(network.subnet), "Gateway": str(network.host), "IPRange": str(network.for_engine)}
    return {
        **network_payload(gateway_network_name(), gateway_bridge_name()),
        "IPAM": {"Driver": "default", "Config": [shares]},
    }
