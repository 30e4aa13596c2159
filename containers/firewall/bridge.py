"""The name of the agents' network interface on the host, which the firewall rules match."""

import hashlib
from pathlib import Path

from django.conf import settings

from containers.identity import installation_id, network_name
from containers.programs import ProgramError, run_program

BRIDGE_PREFIX = "berth-"
"""Begins the name of every agents' bridge, of any installation, so that one rule can close them all."""

_LIMIT = 10.0
_NAMED_BY_OTHERS = (BRIDGE_PREFIX, "br-", "docker", "virbr", "lxc", "cni", "podman")
_INTERFACES = Path("/sys/class/net")


def bridge_name() -> str:
    """The name of the interface: unique to installation and network, and at most 15 characters, the kernel's limit."""
    return _name(settings.BERTH_INSTANCE, network_name(), installation_id())


def former_bridge_name() -> str:
    """The name that the interface had before installations had ids. Agents stay on it until their next deploy."""
    return _name(settings.BERTH_INSTANCE, settings.BERTH_CONTAINER_NETWORK or f"{settings.BERTH_INSTANCE}-agents")


def bridges_to_guard() -> list[str]:
    """The interfaces on which agents of this installation may be, for which there have to be rules."""
    present, former = bridge_name(), former_bridge_name()
    return [present, former] if is_here(former) or not is_here(present) else [present]


def is_here(bridge: str) -> bool:
    """Whether this host has the interface."""
    return Path(_INTERFACES, bridge).exists()


def restore_bridge_name(name: str, address: str) -> str:
    """Gives the bridge that has this address the name by which the rules know it.

    Returns the name that it had; empty where this host has no such interface. Raises `ProgramError`.
    """
    shown = run_program("ip", "-o", "-4", "addr", "show", "to", address, seconds=_LIMIT).split()
    if len(shown) < 2:
        return ""
    former = shown[1].partition("@")[0]
    if former.startswith(_NAMED_BY_OTHERS):
        return ""  # engines in other namespaces and on other machines use the same addresses
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
