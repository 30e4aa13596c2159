"""Refuses a port or subnet that another installation on the same Swarm already uses."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from django.conf import settings

from containers.agent_text import clean
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.node_script import CONFIG
from containers.identity import gateway_network_name, is_our_helper, network_name
from containers.swarm.gateway.payload import CONTROL_PORT, LABEL

PORT_TAKEN = (
    "The gateways of another installation on this Swarm, {other}, use the port {port}. Set BERTH_SWARM_GATEWAY_PORT to "
    "another port, let Berth's machines reach it, and start Berth again."
)
ADDRESSES_TAKEN = (
    "The network {other} uses addresses of {subnet}, the subnet of this installation's agents. Set BERTH_SWARM_SUBNET "
    "to another one, run the script that `manage.py node` prints on each node, and start Berth again."
)


def require_own_port(connection: Connection, ours: Sequence[Mapping[str, Any]]) -> None:
    """Raises `EngineRefusedError` if gateways of another installation have the port and were created before ours.

    `ours` are the services of our own gateways.
    """
    with connection.call() as client, understand_answer():
        rows = client.services(filters={"label": [LABEL]})
        others = [row for row in rows if not is_our_helper(row["Spec"]["Labels"] or {}, LABEL)]
    # An installation that changes to a port of a newer one has no claim to it, so only those of ours that already
    # listen there count.
    since = min((str(row["CreatedAt"]) for row in ours if _has_the_port(row)), default="")
    for row in others:
        if _has_the_port(row) and (not since or str(row["CreatedAt"]) < since):
            port, other = settings.BERTH_SWARM_GATEWAY_PORT, str(row["Spec"]["Labels"][LABEL])[:40]
            raise EngineRefusedError(PORT_TAKEN.format(port=port, other=other))


def _has_the_port(row: Mapping[str, Any]) -> bool:
    environment = row["Spec"]["TaskTemplate"]["ContainerSpec"].get("Env") or []
    return f"{CONTROL_PORT}={settings.BERTH_SWARM_GATEWAY_PORT}" in environment


def require_own_addresses(connection: Connection) -> None:
    """Raises `EngineRefusedError` if the node that we are connected to has a foreign network that overlaps our subnet.

    Otherwise the nodes' engines would refuse every agent.
    """
    own, subnet = own_networks(), IPv4Network(settings.BERTH_SWARM_SUBNET)
    with connection.call() as client, understand_answer():
        for row in client.networks():
            ranges = [str(each.get("Subnet") or "") for each in (row.get("IPAM") or {}).get("Config") or []]
            taken = [
                each for each in ranges if each and ":" not in each and IPv4Network(each, strict=False).overlaps(subnet)
            ]
            if taken and row["Name"] not in own:
                raise EngineRefusedError(ADDRESSES_TAKEN.format(subnet=subnet, other=clean(str(row["Name"]))[:80]))


def own_networks() -> set[str]:
    names = network_name(), gateway_network_name()
    return {f"{name}{end}" for name in names for end in ("", CONFIG)}
