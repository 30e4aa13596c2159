"""Finds out whether the host closes the agents' bridges before its engine starts, and has the script that does it.

An engine that starts agents by itself does so seconds before Berth can set any rule. If nothing closes their bridges
until then, agents therefore wait for Berth (`restarts_by_engine`).
"""

import os
from pathlib import Path

from django.conf import settings

from containers.firewall.led_chains import LEADS
from containers.firewall.neighbour_table import room_by_script
from containers.firewall.rules import BRIDGE_PREFIX, CLOSED

UNIT = "berth-firewall.service"
ENGINE_REQUIRES = Path("/etc/systemd/system/docker.service.requires", UNIT)
"""Created by `systemctl enable`: the engine does not start before the unit has run."""

ENGINE_SOCKETS = (Path("/run/docker.sock"), Path("/var/run/docker.sock"))
ENGINE_UNITS = tuple(
    Path(folder, "systemd/system/docker.service") for folder in ("/etc", "/usr/local/lib", "/usr/lib", "/lib")
)

# The table `raw` comes before all others, and neither Docker nor the distribution's firewall opens it again.
_TABLE = "-w -t raw"
_ROOM = "\n".join(room_by_script())

SCRIPT = f"""\
#!/bin/sh
# Drops all that comes from the bridges of Berth's agents, until Berth has set the rules of each. Runs before Docker,
# and when another firewall is reloaded: a bridge that is open for rules that are gone is closed again.
set -eu

{LEADS}
# guarded: whether the rules of $bridge are there, and packets come to them.
guarded() {{
    rules=$(echo "$bridge" | tr '[:lower:]' '[:upper:]')
    for end in FORWARD HOST LIMITS REFUSE; do
        $program -w -S "$rules-$end" 2>/dev/null | grep -q '^-A' || return 1
    done
    leads INPUT "-i $bridge -j $rules-HOST" || return 1
    leads FORWARD "-i $bridge -j $rules-FORWARD" ||
        {{ leads FORWARD "-j DOCKER-USER" && leads DOCKER-USER "-i $bridge -j $rules-FORWARD"; }}
}}

{_ROOM}
for program in iptables ip6tables; do
    [ $program = iptables ] || [ -e /proc/net/if_inet6 ] || continue
    $program {_TABLE} -n -L {CLOSED} >/dev/null 2>&1 || $program {_TABLE} -N {CLOSED}
    $program {_TABLE} -C {CLOSED} -j DROP 2>/dev/null || $program {_TABLE} -A {CLOSED} -j DROP
    $program {_TABLE} -C PREROUTING -i {BRIDGE_PREFIX}+ -j {CLOSED} 2>/dev/null ||
        $program {_TABLE} -I PREROUTING 1 -i {BRIDGE_PREFIX}+ -j {CLOSED}
    opened=$($program {_TABLE} -S {CLOSED} | sed -n 's/^-A {CLOSED} -i \\([^ ]*\\) -j RETURN$/\\1/p')
    for bridge in $opened; do
        guarded || $program {_TABLE} -D {CLOSED} -i "$bridge" -j RETURN
    done
done
"""


def restarts_by_engine() -> bool:
    """Returns whether the engine may restart agents by itself: if their bridges stay closed until the rules are set."""
    if settings.BERTH_BOOT_FIREWALL != "auto":
        return bool(settings.BERTH_BOOT_FIREWALL == "on")
    return ENGINE_REQUIRES.is_symlink() and _is_guarded_engine()


def _is_guarded_engine() -> bool:
    """Returns whether the engine is that of docker.service, the only one that waits for the unit.

    An engine on another socket (rootless, of another user, of a test) does not wait, nor does one from a snap, which
    has its own unit and the usual socket.
    """
    scheme, _, path = (os.environ.get("DOCKER_HOST") or "unix://").partition("://")
    socket = Path(path or ENGINE_SOCKETS[0])
    return scheme == "unix" and socket.resolve() in ENGINE_SOCKETS and any(unit.is_file() for unit in ENGINE_UNITS)
