"""The one bridge network that all agents of this instance share, on which they cannot reach each other."""

import re
from datetime import datetime
from ipaddress import ip_network
from typing import Any

from containers.agent_reports import parse_time
from containers.docker.networks.new_networks import BRIDGE, find_free_subnet, find_or_make, network_payload
from containers.docker_api.client import Connection
from containers.docker_api.errors import EngineFailedError, MissingError, is_timeout, understand_answer
from containers.docker_api.events import find_oldest_event
from containers.engine.images import HostFacts
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.firewall.bridge import agents_trial_bridge_name, bridge_name, former_bridge_name
from containers.identity import is_former, is_labelled, network_name
from containers.outbound.call_limits import time_limit

MOST_CPUS = 1 << 16
NETWORKS_WITHIN = 1.5
"""Seconds for the engine's start, for which a round of the watcher waits at each crash."""

_VERSION = re.compile(r"[0-9A-Za-z.+~_-]{1,64}")

PREFIX = 22
"""Bits of the network's prefix: it has 1,022 addresses, and a kernel bridge has 1,023 ports. In a larger network, such
as Docker creates, each agent could fill as many entries of the kernel's neighbour table as there are addresses."""


def agents_network_payload(*, subnet: str = "") -> dict[str, Any]:
    """Returns the body of POST /networks/create. Without a subnet the engine chooses one."""
    return {
        **network_payload(network_name(), bridge_name()),
        **({"IPAM": {"Driver": "default", "Config": [_pool(subnet)]}} if subnet else {}),
    }


def _pool(subnet: str) -> dict[str, str]:
    """Returns the address pool. The first address is the host's, as in pools that the engine chooses itself."""
    return {"Subnet": subnet, "Gateway": str(next(ip_network(subnet).hosts()))}


def ensure_network(connection: Connection) -> bool:
    """Creates the network if it is missing, and returns whether it did.

    Raises `EngineRefusedError` for a network that is not ours.
    """
    made = False

    def make() -> None:
        nonlocal made
        # If somebody else takes these addresses meanwhile, the engine refuses, and the next try finds others. A
        # network without chosen addresses would be larger than `PREFIX` allows.
        subnet = _find_subnet(connection)
        with connection.call() as client:
            client.create_network_from(agents_network_payload(subnet=subnet))
        made = True

    find_or_make(lambda: _network_exists(connection) or None, make)
    return made


def _find_subnet(connection: Connection) -> str:
    """Returns a part of the subnet that the engine would choose, or "" if that is small enough already.

    Raises `EngineRefusedError`.
    """
    chosen = find_free_subnet(connection, name=f"{network_name()}-trial", bridge=agents_trial_bridge_name())
    return str(next(chosen.subnets(new_prefix=PREFIX))) if chosen.prefixlen < PREFIX else ""


def read_engine_start(connection: Connection) -> datetime | None:
    """Returns when the engine was started: the creation time of its default bridge. None if it has no such bridge.

    If containers survive a restart of the engine (`live-restore`), so does the bridge, and so do their rules.
    """
    try:
        with connection.call() as client, understand_answer():
            return parse_time(client.inspect_network("bridge")["Created"])
    except MissingError:
        return None


def find_engine_start(connection: Connection) -> datetime | None:
    """Does the same as `read_engine_start`, but an engine that does not tell of its networks is asked for its events
    instead: then this is a moment at which it ran already. Raises `EngineUnavailableError`.
    """
    try:
        with time_limit(NETWORKS_WITHIN):
            return read_engine_start(connection)
    except EngineUnavailableError as error:
        if not (is_timeout(error.__cause__ or error) or isinstance(error, EngineFailedError)):
            raise
        oldest = find_oldest_event(connection)
        if oldest is None:
            raise
        return oldest


def describe_host(connection: Connection) -> HostFacts:
    """Returns the engine's facts about its machine. Values that are not a valid number or version are left out."""
    with connection.call() as client:
        info = client.info()
    facts = info if isinstance(info, dict) else {}
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
            f"The network {network_name()} was not created by this installation. Remove it, or set "
            "BERTH_CONTAINER_NETWORK to another name."
        )
        raise EngineRefusedError(message)
    return True
