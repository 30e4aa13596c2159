"""Makes a network once, however many processes and servers make it at the same time, and finds free addresses for it.

Engines take a network's name twice from two that are fast enough, and a bridge's name never.
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
"""Seconds after which nobody waits for another that makes a network."""


def find_or_make(find: Callable[[], T | None], make: Callable[[], None]) -> T:
    """What `find` finds, where it has to be made first. Others may be making the same at the same time: what the engine
    refused then, it has."""
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
    """The addresses that the engine chooses for a network of this name, which is made for a moment.

    Only the engine knows which addresses are free on its host. Raises `EngineRefusedError`, also where somebody else
    was faster and has taken the network away again: then ask once more.
    """
    refusal = EngineRefusedError("Somebody else is making the agents' network.")
    try:
        with connection.call() as client:
            client.create_network_from(network_payload(name, bridge))
    except EngineRefusedError as error:  # there is one: somebody else's, or left behind
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
    """None where the engine answered that there is none."""
    try:
        with connection.call() as client, understand_answer():
            found: dict[str, Any] = dict(client.inspect_network(name))
    except MissingError:
        return None
    return found


def network_payload(name: str, bridge: str) -> dict[str, Any]:
    """The body of POST /networks/create, for one on which nobody reaches a neighbour.

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
    """Of all threads and processes of this installation on this machine.

    Engines that are asked twice at a time for one network may have none of it afterwards, and refuse to make it again.
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
