"""The one bridge network that all agents of this instance share, on which they cannot reach each other."""

from typing import Any

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.bridge import bridge_name
from containers.vocabulary import INSTANCE_LABEL

_BRIDGE = "com.docker.network.bridge"


def network_payload() -> dict[str, Any]:
    """The body of POST /networks/create. Agents get no IPv6, although the firewall has rules for it too."""
    return {
        "Name": settings.BERTH_CONTAINER_NETWORK,
        "CheckDuplicate": True,
        "Driver": "bridge",
        "EnableIPv6": False,
        "Internal": False,
        "Attachable": False,
        "Labels": {INSTANCE_LABEL: settings.BERTH_INSTANCE},
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


def _network_exists(connection: Connection) -> bool:
    try:
        with connection.call() as client:
            found = client.inspect_network(settings.BERTH_CONTAINER_NETWORK)
    except MissingError:
        return False
    with understand_answer():
        options, labels = found["Options"] or {}, found["Labels"] or {}
        is_ours = labels.get(INSTANCE_LABEL) == settings.BERTH_INSTANCE
        isolates = options.get(f"{_BRIDGE}.enable_icc") == "false" and options.get(f"{_BRIDGE}.name") == bridge_name()
    if not (is_ours and isolates):
        message = (
            f"The network {settings.BERTH_CONTAINER_NETWORK} is not one that Berth made. Remove it, or set "
            "BERTH_CONTAINER_NETWORK to another name."
        )
        raise EngineRefusedError(message)
    return True
