"""Tests from a container on the agents' network whether packets to private networks are refused.

The rules may exist without effect: the bridge may have another name, or something ahead of them that `iptables` does
not show may let packets through. A container that sends packets is in the same position as an agent.
"""

import socket

from containers.docker.networks.rules_container import remove_left_behind, run_helper
from containers.docker_api.building.image_build import FIREWALL, find_contexts, inspect_image
from containers.docker_api.client import Connection
from containers.identity import network_name
from containers.outbound.call_limits import time_limit

ADDRESSES = ("192.0.2.1", "198.51.100.1", "203.0.113.1", "10.255.255.254", "172.31.255.254", "192.168.255.254")
"""Forbidden addresses. Most of them lead nowhere, so that a packet that the rules let through is lost."""

PORT = 9
"""discard (RFC 863)."""

_LIMIT = 60.0
_KNOCK = f"""\
knock() {{
    if command -v python3; then
        python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], {PORT}), 2); print("connected")' "$1"
    elif command -v bash; then
        timeout 2 bash -c ': </dev/tcp/$0/{PORT} && echo connected || :; exit 0' "$1" || echo "timed out"
    else
        nc -w 2 "$1" {PORT} </dev/null && echo connected
    fi
}}
"""


def probe(connection: Connection) -> bool | None:
    """Returns whether packets to forbidden addresses are refused, or None if that cannot be determined.

    It cannot be determined without an image that has a shell, or if this host has no route to any of the addresses.
    """
    image = next((each for each in _candidates() if inspect_image(connection, each)), None)
    addresses = [address for address in ADDRESSES if _has_route(address)]
    if image is None or not addresses:
        return None
    lines = [f"(knock {address} 2>&1 || :) | tail -n 1 | sed 's/^/{address} /' &" for address in addresses]
    script = _KNOCK + "\n".join([*lines, "wait", ""])
    with time_limit(_LIMIT):
        remove_left_behind(connection)
        return read_answers(run_helper(connection, script, network=network_name(), image=image))


def read_answers(printed: str) -> bool | None:
    """Returns what the attempts prove: False if one connected, else True if one was refused, as the rules do.

    If there was neither, the rules did not refuse them: they left the host, or something else dropped them. Returns
    None if the container could make no attempt.
    """
    answers = [line.partition(" ")[2].lower() for line in printed.splitlines() if line.startswith(ADDRESSES)]
    if any(answer.endswith("connected") for answer in answers):
        return False
    if any("refused" in answer for answer in answers):
        return True
    is_silent = any("timed out" in answer or "unreachable" in answer or "no route" in answer for answer in answers)
    return False if is_silent else None


def _candidates() -> list[str]:
    return [FIREWALL.image, *(context.image for context in find_contexts())]


def _has_route(address: str) -> bool:
    """Returns whether this host has a route to the address. That says nothing if the engine is on another host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect((address, PORT))  # sends nothing
        except OSError:
            return False
    return True
