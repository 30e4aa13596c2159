"""The name of the agents' network interface on the host, which the firewall rules match."""

import hashlib
import re
from pathlib import Path

from django.conf import settings

from containers.firewall.passage import passage_of
from containers.firewall.rules import BRIDGE_PREFIX
from containers.identity import installation_id, network_name
from containers.programs import ProgramError, run_program

_EXIT_PREFIX, _TRIAL_PREFIX = "bexit-", "btry-"

_LIMIT = 10.0
_INTERFACES = Path("/sys/class/net")


def bridge_name() -> str:
    """The name of the interface: unique to installation and network, and at most 15 characters, the kernel's limit."""
    return _name(settings.BERTH_INSTANCE, network_name(), installation_id())


def former_bridge_name() -> str:
    """The name that the interface had before installations had ids. Agents stay on it until their next deploy."""
    return _name(settings.BERTH_INSTANCE, settings.BERTH_CONTAINER_NETWORK or f"{settings.BERTH_INSTANCE}-agents")


def gateway_bridge_name() -> str:
    """The interface of the network on which agents with an address of their own reach the gateway."""
    return _name(settings.BERTH_INSTANCE, network_name(), "gateway", installation_id())


def exit_bridge_name() -> str:
    """The interface of the gateway's own way out, on which there is no agent: nothing closes it at boot."""
    return gateway_bridge_name().replace(BRIDGE_PREFIX, _EXIT_PREFIX, 1)


def trial_bridge_name() -> str:
    """The interface of a network that is made for a moment, to see which addresses are free."""
    return gateway_bridge_name().replace(BRIDGE_PREFIX, _TRIAL_PREFIX, 1)


def agents_trial_bridge_name() -> str:
    """The same for the network of the agents that have no address of their own."""
    return bridge_name().replace(BRIDGE_PREFIX, _TRIAL_PREFIX, 1)


def bridges_to_guard() -> list[str]:
    """The interfaces on which agents of this installation may be, for which there have to be rules.

    That of the gateway's network only where this process knows what they are to let through.
    """
    present, former, gateway = bridge_name(), former_bridge_name(), gateway_bridge_name()
    found = [present, former] if is_here(former) or not is_here(present) else [present]
    return [*found, gateway] if passage_of(gateway) else found


def is_here(bridge: str) -> bool:
    """Whether this host has the interface."""
    return Path(_INTERFACES, bridge).exists()


def mark_bridge(name: str) -> None:
    """Writes the name into the interface's alias, which stays if somebody renames it. Raises `ProgramError`."""
    if is_here(name):
        run_program("ip", "link", "set", "dev", name, "alias", name, seconds=_LIMIT)


def restore_bridge_name(name: str) -> str:
    """Gives the bridge that was marked with this name the name again, by which the rules know it.

    Returns the name that it had; empty where this host has no such interface. Raises `ProgramError`. Nothing is told
    from addresses: engines in other namespaces and on other machines use the same.
    """
    shown = run_program("ip", "-o", "link", "show", seconds=_LIMIT)
    marked = re.search(rf"^\d+: ([^:@\s]+).*\salias {re.escape(name)}(?:\s|$)", shown, re.MULTILINE)
    if marked is None:
        return ""
    former = marked[1]
    rename = ("ip", "link", "set", "dev", former, "name", name)
    try:
        run_program(*rename, seconds=_LIMIT)
    except ProgramError:
        # Older kernels rename only what is down. Its routes come back with it.
        run_program("ip", "link", "set", "dev", former, "down", seconds=_LIMIT)
        try:
            run_program(*rename, seconds=_LIMIT)
        finally:
            run_program("ip", "link", "set", "dev", former if is_here(former) else name, "up", seconds=_LIMIT)
    return former


def _name(*words: str) -> str:
    return f"{BRIDGE_PREFIX}{hashlib.sha256('/'.join(words).encode()).hexdigest()[:8]}"
