"""The one bridge network that all agents of this instance share, on which they cannot reach each other."""

import re
from datetime import datetime
from ipaddress import ip_network
from typing import Any

from containers.agent_reports import parse_time
from containers.docker.networks.new_networks import BRIDGE, find_free_subnet, find_or_make, network_payload
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.engine.images import HostFacts
from containers.errors import EngineRefusedError
from containers.firewall.bridge import agents_trial_bridge_name, bridge_name, former_bridge_name
from containers.identity import is_former, is_labelled, network_name

MOST_CPUS = 1 << 16
_VERSION = re.compile(r"[0-9A-Za-z.+~_-]{1,64}")

PREFIX = 22
"""Bits of the network's address: it has 1,022 places, and a bridge of the kernel has 1,023 ports. On a larger one, such
as Docker makes, each agent takes as many places in the kernel's table of neighbours as there are addresses."""


def agents_network_payload(*, subnet: str = "") -> dict[str, Any]:
    """The body of POST /networks/create. Without a subnet the engine chooses one."""
    return {
        **network_payload(network_name(), bridge_name()),
        **({"IPAM": {"Driver": "default", "Config": [_pool(subnet)]}} if subnet else {}),
    }


def _pool(subnet: str) -> dict[str, str]:
    """The first address is the host's, as in what the engine chooses by itself."""
    return {"Subnet": subnet, "Gateway": str(next(ip_network(subnet).hosts()))}


def ensure_network(connection: Connection) -> bool:
    """Makes the network where it is missing, and returns whether it did. Raises for a network that is not ours."""
    made = False

    def make() -> None:
        nonlocal made
        _create(connection, _find_subnet(connection))
        made = True

    find_or_make(lambda: _network_exists(connection) or None, make)
    return made


def _create(connection: Connection, subnet: str) -> None:
    try:
        with connection.call() as client:
            client.create_network_from(agents_network_payload(subnet=subnet))
    except EngineRefusedError:
        if not subnet or _network_exists(connection):
            raise
        # Somebody has taken these addresses since.
        _create(connection, "")


def _find_subnet(connection: Connection) -> str:
    """A part of what the engine would choose; empty where that is small enough. Raises `EngineRefusedError`."""
    chosen = find_free_subnet(connection, name=f"{network_name()}-trial", bridge=agents_trial_bridge_name())
    return str(next(chosen.subnets(new_prefix=PREFIX))) if chosen.prefixlen < PREFIX else ""


def read_engine_start(connection: Connection) -> datetime | None:
    """When the engine was started: it makes its default bridge anew each time. None where it has no such bridge.

    Where containers survive the engine (`live-restore`) the bridge does too, and so do their rules.
    """
    try:
        with connection.call() as client, understand_answer():
            return parse_time(client.inspect_network("bridge")["Created"])
    except MissingError:
        return None


def describe_host(connection: Connection) -> HostFacts:
    """What the engine says of its machine. What is no number or no text of a version is left out."""
    with connection.call() as client:
        told = client.info()
    facts = told if isinstance(told, dict) else {}
    memory, cpus, version = (facts.get(name) for name in ("MemTotal", "NCPU", "ServerVersion"))
    return HostFacts(
        memory=memory if isinstance(memory, int) and memory > 0 else None,
        cpus=cpus if isinstance(cpus, int) and 0 < cpus < MOST_CPUS else None,
        version=version if isinstance(version, str) and _VERSION.fullmatch(version) else "",
    )


def _network_exists(connection: Connection) -> bool:
    try:
        with connection.call() as client:
            found = client.inspect_network(network_name())
    except MissingError:
        return False
    with understand_answer():
        options, labels = found["Options"] or {}, found["Labels"] or {}
        bridge = options.get(f"{BRIDGE}.name")
        is_ours = is_labelled(labels) and bridge == bridge_name()
        is_ours = is_ours or (is_former(labels) and bridge == former_bridge_name())
        isolates = options.get(f"{BRIDGE}.enable_icc") == "false"
    if not (is_ours and isolates):
        message = (
            f"The network {network_name()} is not one that this installation made. Remove it, or set "
            "BERTH_CONTAINER_NETWORK to another name."
        )
        raise EngineRefusedError(message)
    return True
