"""The one bridge network that all agents of this instance share, on which they cannot reach each other."""

from datetime import datetime
from typing import Any

from containers.agent_reports import parse_time
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.bridge import bridge_name, former_bridge_name
from containers.identity import is_former, is_labelled, network_name, own_labels

_BRIDGE = "com.docker.network.bridge"


def network_payload() -> dict[str, Any]:
    """The body of POST /networks/create. Agents get no IPv6, although the firewall has rules for it too."""
    return {
        "Name": network_name(),
        "CheckDuplicate": True,
        "Driver": "bridge",
        "EnableIPv6": False,
        "Internal": False,
        "Attachable": False,
        "Labels": own_labels(),
        "Options": {f"{_BRIDGE}.enable_icc": "false", f"{_BRIDGE}.name": bridge_name()},
    }


def ensure_network(connection: Connection) -> bool:
    """Makes the network where it is missing, and returns whether it did. Raises for a network that is not ours."""
    if _network_exists(connection):
        return False
    try:
        with connection.call() as client:
            client.create_network_from(network_payload())
    except ConflictError:
        if not _network_exists(connection):
            raise
        return False
    return True


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
