"""The names of the agents' network interfaces on the host, which the firewall rules match."""

import hashlib
import re
from pathlib import Path

from django.conf import settings

from containers.firewall.gateway_openings import passage_of
from containers.firewall.rules import BRIDGE_PREFIX
from containers.identity import installation_id, network_name
from containers.programs import ProgramError, run_program

_EXIT_PREFIX, _TRIAL_PREFIX = "bexit-", "btry-"

_LIMIT = 10.0
_INTERFACES = Path("/sys/class/net")


def bridge_name() -> str:
    """Returns the interface's name, unique to installation and network. The kernel's limit is 15 characters."""
    return _name(settings.BERTH_INSTANCE, network_name(), installation_id())


def former_bridge_name() -> str:
    """Returns the interface's name from before installations had ids. Agents stay on it until their next deploy."""
    return _name(settings.BERTH_INSTANCE, settings.BERTH_CONTAINER_NETWORK or f"{settings.BERTH_INSTANCE}-agents")


def gateway_bridge_name() -> str:
    """Returns the interface of the network on which agents with a fixed address reach the gateway."""
    return _name(settings.BERTH_INSTANCE, network_name(), "gateway", installation_id())


def exit_bridge_name() -> str:
    """Returns the interface of the gateway's exit network. It has no agents, so nothing closes it at boot."""
    return gateway_bridge_name().replace(BRIDGE_PREFIX, _EXIT_PREFIX, 1)


def trial_bridge_name() -> str:
    """Returns the interface of a network that is created for a moment, to see which addresses are free."""
    return gateway_bridge_name().replace(BRIDGE_PREFIX, _TRIAL_PREFIX, 1)


def agents_trial_bridge_name() -> str:
    """Returns the same for the network of agents without a fixed address."""
    return bridge_name().replace(BRIDGE_PREFIX, _TRIAL_PREFIX, 1)


def bridges_to_guard() -> list[str]:
    """Returns the interfaces of this installation's agents, which need rules.

    The gateway's network is included only if this process knows which traffic its rules must let through.
    """
    present, former, gateway = bridge_name(), former_bridge_name(), gateway_bridge_name()
    found = [present, former] if is_here(former) or not is_here(present) else [present]
    return [*found, gateway] if passage_of(gateway) else found


def bridges_with_rules() -> list[str]:
    """Returns the interfaces whose rules this installation may remove, even if the interfaces are gone.

    The former interface, whose name other installations may share, is one of them only if this host does not have it.
    """
    former = former_bridge_name()
    return [bridge_name(), gateway_bridge_name(), *([] if is_here(former) else [former])]


def is_here(bridge: str) -> bool:
    """Returns whether this host has the interface."""
    return Path(_INTERFACES, bridge).exists()


def mark_bridge(name: str) -> None:
    """Writes the name into the interface's alias, which survives a rename. Raises `ProgramError`."""
    if is_here(name):
        run_program("ip", "link", "set", "dev", name, "alias", name, seconds=_LIMIT)


def restore_bridge_name(name: str) -> str:
    """Restores the name of the bridge that was marked with it, because the rules match this name.

    Returns the name that it had, or "" if this host has no such interface. Raises `ProgramError`. Addresses are no
    criterion, because engines in other namespaces and on other machines use the same ones.
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
        # Older kernels rename only interfaces that are down. The routes come back when it is up again.
        run_program("ip", "link", "set", "dev", former, "down", seconds=_LIMIT)
        try:
            run_program(*rename, seconds=_LIMIT)
        finally:
            run_program("ip", "link", "set", "dev", former if is_here(former) else name, "up", seconds=_LIMIT)
    return former


def _name(*words: str) -> str:
    return f"{BRIDGE_PREFIX}{hashlib.sha256('/'.join(words).encode()).hexdigest()[:8]}"
