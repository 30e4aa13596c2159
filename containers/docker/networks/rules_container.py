"""Sets the firewall rules through the engine, with a short-lived container in the host's network.

It is for a Berth that is not root, runs in a container itself, or has its engine on another host. The container has no
capabilities except those to change the network (NET_ADMIN, and NET_RAW for older iptables), and it mounts nothing.
"""

import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings

from containers.docker.helpers import find_left_behind, remove_helper
from containers.docker_api.building.image_build import FIREWALL, inspect_image
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.bridge import bridges_to_guard
from containers.firewall.iptables import rules_for
from containers.firewall.packet_paths import parse_chains
from containers.firewall.resolvers import parse_resolvers
from containers.firewall.rules import PROGRAMS, RuleSet, leads_to_rules
from containers.firewall.script import as_removal, as_script, if_supported
from containers.hardening import MEBIBYTE
from containers.identity import helper_labels
from containers.outbound.call_limits import time_limit

LABEL = "berth.rules"
"""The label of these containers; its value is the instance. Their only other label is the installation's id, because
they are no agents."""

_LIMIT = 20.0
_LISTED = "berth lists "
_NOBODY = "65534:65534"
_LOOK_EVERY = 0.05
_LEFT_BEHIND = timedelta(minutes=1)

# The kernel has two sets of rules. Docker's are in the old set if that has any tables.
_CHOOSE = "! grep -qs filter /proc/net/ip_tables_names || export PATH=/opt/legacy:$PATH\n"


def set_rules(connection: Connection) -> None:
    """Sets the rules. Raises `EngineError` with a sentence that says why they could not be set."""
    if inspect_image(connection, FIREWALL.image) is None:
        message = f"The image {FIREWALL.image} is not on the engine; `manage.py build_images` makes it."
        raise EngineRefusedError(message)
    with time_limit(2 * _LIMIT):
        remove_left_behind(connection)
        # In a container on the default network: Docker uses these name servers in every network.
        resolvers = parse_resolvers(run_helper(connection, "cat /etc/resolv.conf", network="bridge"))
        rules = [each for bridge in bridges_to_guard() for each in rules_for(bridge, resolvers=resolvers)]
        listings = [if_supported(name, [f"echo '{_LISTED}{name}'; {name} -w -S"]) for name in PROGRAMS.values()]
        listing = "\n".join(line for lines in listings for line in lines)
        _check(run_helper(connection, f"{_CHOOSE}{as_script(rules)}{listing}\n", network="host"), rules)


def run_removal(connection: Connection, bridges: Iterable[str], *, unless_here: str) -> bool:
    """Removes the rules for these bridges, and those for `unless_here` if the engine's host has no such interface.

    Returns False if the engine has no image for that. Raises `EngineError`.
    """
    if inspect_image(connection, FIREWALL.image) is None:
        return False
    ours = as_removal(each for bridge in bridges for each in rules_for(bridge, resolvers=[]))
    shared = as_removal(rules_for(unless_here, resolvers=[]))
    script = f"{_CHOOSE}{ours}[ -e /sys/class/net/{unless_here} ] || {{\n{shared}}}\n"
    with time_limit(_LIMIT):
        run_helper(connection, script, network="host")
    return True


def _check(printed: str, rules: list[RuleSet]) -> None:
    """Raises `EngineRefusedError` if packets get past the rules that were set."""
    for part in printed.split(_LISTED)[1:]:
        program, _, listed = part.partition("\n")
        chains = parse_chains(listed)
        if not all(leads_to_rules(chains, each) for each in rules if each.program == program.strip()):
            raise EngineRefusedError("Other rules let packets past those of Berth, which could not be put before them.")


def _payload(script: str, *, network: str, image: str) -> dict[str, Any]:
    sets_rules = network == "host"
    return {
        "Image": image,
        "User": "0:0" if sets_rules else _NOBODY,
        "Entrypoint": ["/bin/sh", "-c", script],
        "Cmd": [],
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": helper_labels(LABEL),
        "HostConfig": {
            "NetworkMode": network,
            "CapDrop": ["ALL"],
            "CapAdd": ["NET_ADMIN", "NET_RAW"] if sets_rules else [],
            "SecurityOpt": ["no-new-privileges:true"],
            "ReadonlyRootfs": True,
            "Tmpfs": {"/run": "rw,noexec,nosuid,nodev,size=1m"},
            "Memory": 64 * MEBIBYTE,
            "MemorySwap": 64 * MEBIBYTE,
            "PidsLimit": 64,
            "LogConfig": {"Type": "local", "Config": {"max-size": "1m", "max-file": "2"}},
        },
    }


def run_helper(connection: Connection, script: str, *, network: str, image: str = FIREWALL.image) -> str:
    """Runs a shell script in a container, and returns its output. Raises `EngineRefusedError` if it fails."""
    with connection.call() as client, understand_answer():
        payload = _payload(script, network=network, image=image)
        name = f"{settings.BERTH_INSTANCE}-rules-{uuid4().hex[:8]}"
        container_id = str(client.create_container_from_config(payload, name)["Id"])
    try:
        with connection.call(about_one=True) as client:
            client.start(container_id)
        exit_code = _wait(connection, container_id)
        with connection.call(about_one=True) as client:
            printed: str = client.logs(container_id, stdout=True, stderr=True).decode(errors="replace")
    finally:
        remove_helper(connection, container_id)
    if exit_code:
        last = (printed.strip().splitlines() or ["it said nothing"])[-1]
        message = f"The firewall's container failed with status {exit_code}: {last[:200]}"
        raise EngineRefusedError(message)
    return printed


def _wait(connection: Connection, container_id: str) -> int:
    deadline = time.monotonic() + _LIMIT
    while time.monotonic() < deadline:
        with connection.call(about_one=True) as client, understand_answer():
            state = client.inspect_container(container_id)["State"]
            if state["Status"] in {"exited", "dead"}:
                return int(state["ExitCode"])
        time.sleep(_LOOK_EVERY)
    raise EngineRefusedError("The firewall's container did not end in time.")


def remove_left_behind(connection: Connection) -> None:
    """Removes helper containers whose process was killed before it could do so."""
    for container_id in find_left_behind(connection, LABEL, after=_LEFT_BEHIND):
        remove_helper(connection, container_id)
