"""The one bridge network that all agents of this instance share, on which they cannot reach each other."""

from contextlib import suppress
from datetime import datetime
from ipaddress import IPv4Network, ip_network
from typing import Any

from containers.agent_reports import parse_time
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.bridge import bridge_name, former_bridge_name
from containers.identity import is_former, is_labelled, network_name, own_labels

_BRIDGE = "com.docker.network.bridge"

PREFIX = 22
"""Bits of the network's address: it has 1,022 places, and a bridge of the kernel has 1,023 ports. On a larger one, such
as Docker makes, each agent takes as many places in the kernel's table of neighbours as there are addresses."""


def network_payload(*, subnet: str = "") -> dict[str, Any]:
    """The body of POST /networks/create. Agents get no IPv6, although the firewall has rules for it too.

    Without a subnet the engine chooses one.
    """
    return {
        "Name": network_name(),
        "CheckDuplicate": True,
        "Driver": "bridge",
        "EnableIPv6": False,
        "Internal": False,
        "Attachable": False,
        "Labels": own_labels(),
        "Options": {f"{_BRIDGE}.enable_icc": "false", f"{_BRIDGE}.name": bridge_name()},
        **({"IPAM": {"Driver": "default", "Config": [_pool(subnet)]}} if subnet else {}),
    }


def _pool(subnet: str) -> dict[str, str]:
    """The first address is the host's, as in what the engine chooses by itself."""
    return {"Subnet": subnet, "Gateway": str(next(ip_network(subnet).hosts()))}


def ensure_network(connection: Connection) -> bool:
    """Makes the network where it is missing, and returns whether it did. Raises for a network that is not ours."""
    if _network_exists(connection):
        return False
    subnet = _find_subnet(connection)
    try:
        return _create(connection, subnet)
    except EngineRefusedError:
        if _network_exists(connection):
            return False  # somebody else was faster: two cannot have one bridge
        if not subnet:
            raise
        # Somebody has taken these addresses since.
        return _create(connection, "")


def _create(connection: Connection, subnet: str) -> bool:
    try:
        with connection.call() as client:
            client.create_network_from(network_payload(subnet=subnet))
    except ConflictError:
        if not _network_exists(connection):
            raise
        return False
    return True


def _find_subnet(connection: Connection) -> str:
    """A part of what the engine would choose; empty where that is small enough, or cannot be told.

    Only the engine knows which addresses are free on its host. It is therefore let choose for a network on trial.
    """
    name = f"{network_name()}-size"
    trial = {"Name": name, "CheckDuplicate": True, "Driver": "bridge", "Labels": own_labels()}
    try:
        with suppress(ConflictError), connection.call() as client:  # left behind by a process that was killed
            client.create_network_from(trial)
        with connection.call() as client, understand_answer():
            chosen = [ip_network(pool["Subnet"]) for pool in client.inspect_network(name)["IPAM"]["Config"]]
        with suppress(MissingError), connection.call() as client:
            client.remove_network(name)
    except EngineRefusedError:
        return ""
    large = (each for each in chosen if isinstance(each, IPv4Network) and each.prefixlen < PREFIX)
    return next((str(next(each.subnets(new_prefix=PREFIX))) for each in large), "")


def read_engine_start(connection: Connection) -> datetime | None:
    """When the engine was started: it makes its default bridge anew each time. None where it has no such bridge.

    Where containers survive the engine (`live-restore`) the bridge does too, and so do their rules.
    """
    try:
        with connection.call() as client, understand_answer():
            return parse_time(client.inspect_network("bridge")["Created"])
    except MissingError:
        return None


def read_host_memory(connection: Connection) -> int | None:
    """Bytes of the host's memory. None where the engine does not say."""
    with connection.call() as client:
        facts = client.info()
    total = facts.get("MemTotal") if isinstance(facts, dict) else None
    return total if isinstance(total, int) and total > 0 else None


def _network_exists(connection: Connection) -> bool:
    try:
        with connection.call() as client:
            found = client.inspect_network(network_name())
    except MissingError:
        return False
    with understand_answer():
        options, labels = found["Options"] or {}, found["Labels"] or {}
        bridge = options.get(f"{_BRIDGE}.name")
        is_ours = is_labelled(labels) and bridge == bridge_name()
        is_ours = is_ours or (is_former(labels) and bridge == former_bridge_name())
        isolates = options.get(f"{_BRIDGE}.enable_icc") == "false"
    if not (is_ours and isolates):
        message = (
            f"The network {network_name()} is not one that this installation made. Remove it, or set "
            "BERTH_CONTAINER_NETWORK to another name."
        )
        raise EngineRefusedError(message)
    return True
