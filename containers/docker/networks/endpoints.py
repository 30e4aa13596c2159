"""Repairs two faults of a network that keep containers from starting: a stale endpoint, and a missing bridge.

If an engine's disk is read-only or full when a container ends, or the engine is killed then, it keeps an endpoint with
the container's name. From then on it refuses to start a container of this name. Disconnecting the container does not
help as long as it has the name: the engine then only removes the network from its record of the container.

If a network manager removes a network's bridge from the kernel, the engine creates it again only at its own start.
Until then no container on that network reaches anything, and none can join. So the network is removed, and created
again like any missing network.
"""

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from containers.docker.networks.new_networks import inspect_network
from containers.docker_api.client import Connection
from containers.docker_api.errors import EngineFailedError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError, NameTakenError
from containers.firewall.bridge import bridge_name, gateway_bridge_name
from containers.identity import gateway_network_name, is_ours, network_name

_IN_THE_WAY = re.compile(r"endpoint with name (\S{1,128}) already exists in network (\S{1,128})")
_WITHOUT_BRIDGE = re.compile(r"could not find bridge (\S{1,64}): ")
_OF_NOBODY = "ep-"
"""The prefix that takes the place of a container's id if no container has the endpoint."""

_NETWORK_RECREATED = (
    "The agents' network was missing on the engine's machine and is being created again. Try again in a few seconds."
)

logger = logging.getLogger(__name__)


def start(connection: Connection, container_id: str) -> None:
    """Starts the container. Raises `EngineError`."""

    def act() -> None:
        with connection.call(about_one=True) as client:
            client.start(container_id)

    _with_free_address(connection, container_id, act)


def connect(connection: Connection, container_id: str, network: str, *, address: str | None) -> None:
    """Connects the container to the network. Raises `EngineError`."""

    def act() -> None:
        with connection.call(about_one=True) as client:
            client.connect_container_to_network(container_id, network, ipv4_address=address)

    _with_free_address(connection, container_id, act)


def _with_free_address(connection: Connection, container_id: str, act: Callable[[], None]) -> None:
    """Calls `act`, which needs an endpoint on a network. Calls it again once it has repaired one of the two faults."""
    try:
        act()
    except (EngineRefusedError, EngineFailedError) as error:
        gone = _WITHOUT_BRIDGE.search(str(error))
        if gone is not None and (missing := _find_ours(connection, gone[1])):
            _try_on_network(connection, missing, bridge=gone[1], act=act)
            return
        found = _IN_THE_WAY.search(str(error))
        if found is None or not _free(connection, container_id, name=found[1], network=found[2]):
            raise
        act()


def _try_on_network(connection: Connection, network: dict[str, Any], *, bridge: str, act: Callable[[], None]) -> None:
    """Calls `act` again. If the bridge is still missing, removes its network. Raises `EngineError`."""
    try:
        act()
    except (EngineRefusedError, EngineFailedError) as error:
        if _WITHOUT_BRIDGE.search(str(error)) is None:
            raise
        logger.warning("The bridge %s is missing on the engine's machine: creating its network again.", bridge)
        _remove_network(connection, network)
        raise EngineUnavailableError(_NETWORK_RECREATED) from error


def _find_ours(connection: Connection, bridge: str) -> dict[str, Any] | None:
    """Returns the network of this installation that should have the bridge, or None.

    Its id ensures that a network that was created since is not removed.
    """
    name = {bridge_name(): network_name(), gateway_bridge_name(): gateway_network_name()}.get(bridge)
    found = inspect_network(connection, name) if name else None
    return found if found and is_ours(found["Labels"] or {}) else None


def _remove_network(connection: Connection, network: dict[str, Any]) -> None:
    for holder in network["Containers"] or {}:
        with suppress(MissingError, EngineRefusedError), connection.call(about_one=True) as client:
            client.disconnect_container_from_network(holder, network["Id"], force=True)
    with suppress(MissingError), connection.call() as client:
        client.remove_network(network["Id"])


def _free(connection: Connection, container_id: str, *, name: str, network: str) -> bool:
    """Removes a stale endpoint from one of our networks. Returns whether there was one, and it is removed."""
    try:
        network_id = _find_network(connection, container_id, name=name, network=network)
        if not network_id:
            return False
        logger.warning("The engine has kept a place of %s, which is given up.", name)
        with connection.call(about_one=True) as client:
            client.rename(container_id, f"{name}-{container_id[:8]}")
        try:
            with connection.call(about_one=True) as client:
                client.disconnect_container_from_network(name, network_id, force=True)
        finally:
            with suppress(NameTakenError), connection.call(about_one=True) as client:
                client.rename(container_id, name)
    except EngineError as error:
        logger.warning("The place that the engine has kept of %s could not be given up: %s", name, error)
        return False
    return True


def _find_network(connection: Connection, container_id: str, *, name: str, network: str) -> str:
    """Returns the network's id, or "" if the network is not ours or a running container has the endpoint."""
    with connection.call(about_one=True) as client, understand_answer():
        found: dict[str, Any] = client.inspect_network(network)
        if not is_ours(found["Labels"] or {}):
            return ""
        places = found["Containers"] or {}
        holders = [holder for holder, place in places.items() if place["Name"] == name]
        others = [holder for holder in holders if not holder.startswith(_OF_NOBODY)]
        if others and (others != [container_id] or client.inspect_container(container_id)["State"]["Running"]):
            return ""
        return str(found["Id"]) if holders else ""
