"""Creates a network only once, even if many processes and servers try at the same time, and finds free addresses.

Engines accept the same network name twice from two callers that are fast enough, but never the same bridge name.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network, ip_network
from typing import Any, TypeVar

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.identity import is_labelled, own_labels

T = TypeVar("T")

BRIDGE = "com.docker.network.bridge"

_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait before each look."""

_LOCKED_FOR = 10.0
"""The longest wait in seconds for another caller that creates a network."""


def find_or_make(find: Callable[[], T | None], make: Callable[[], None]) -> T:
    """Returns the result of `find`, and calls `make` first if there is none. Others may do so at the same time: if the
    engine refuses to create a network, it may have it already."""
    refusal = EngineRefusedError("The engine makes no network.")
    for pause in _PAUSES:
        time.sleep(pause)
        if (found := find()) is not None:
            return found
        try:
            with _one_at_a_time():
                if (found := find()) is not None:
                    return found
                make()
        except EngineRefusedError as error:
            refusal = error
    raise refusal


def find_free_subnet(connection: Connection, *, name: str, bridge: str) -> IPv4Network:
    """Returns the addresses that the engine chooses for a network of this name, which is created for a moment.

    Only the engine knows which addresses are free on its host. Raises `EngineRefusedError`, also if another caller was
    faster and has removed the network again: then call this again.
    """
    refusal = EngineRefusedError("Somebody else is making the agents' network.")
    try:
        with connection.call() as client:
            client.create_network_from(network_payload(name, bridge))
    except EngineRefusedError as error:  # it exists: another caller's, or left behind
        refusal = error
    found = inspect_network(connection, name)
    if found is None:
        raise refusal
    with understand_answer():
        pools = [ip_network(pool["Subnet"]) for pool in found["IPAM"]["Config"]]
        is_ours = is_labelled(found["Labels"] or {})
    if is_ours:
        with suppress(MissingError), connection.call() as client:
            client.remove_network(str(found["Id"]))
    chosen = next((pool for pool in pools if isinstance(pool, IPv4Network)), None)
    if chosen is None:
        raise refusal
    return chosen


def inspect_network(connection: Connection, name: str) -> dict[str, Any] | None:
    """Inspects the network. Returns None if the engine answered that there is none."""
    try:
        with connection.call() as client, understand_answer():
            found: dict[str, Any] = dict(client.inspect_network(name))
    except MissingError:
        return None
    return found


def network_payload(name: str, bridge: str) -> dict[str, Any]:
    """Returns the body of POST /networks/create for a network on which containers cannot reach each other.

    Containers get no IPv6, although the firewall has rules for it too.
    """
    return {
        "Name": name,
        "CheckDuplicate": True,
        "Driver": "bridge",
        "EnableIPv6": False,
        "Internal": False,
        "Attachable": False,
        "Labels": own_labels(),
        "Options": {f"{BRIDGE}.enable_icc": "false", f"{BRIDGE}.name": bridge},
    }


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Lets one thread of all processes of this installation on this machine continue at a time.

    If an engine is asked twice at a time for the same network, it may lack the network and refuse to create it again.
    """
    descriptor = os.open(settings.BERTH_DATA_DIR, os.O_RDONLY | os.O_DIRECTORY)
    try:
        until = time.monotonic() + _LOCKED_FOR
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_PAUSES[1])
        yield
    finally:
        os.close(descriptor)
