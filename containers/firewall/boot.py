"""Whether the host closes the agents' bridges before its engine starts, and the script that does it.

An engine that starts its agents by itself does so seconds before Berth can set any rule. Where nothing closes their
bridges until then, agents therefore wait for Berth (`restarts_by_engine`).
"""

from pathlib import Path

from django.conf import settings

from containers.firewall.bridge import BRIDGE_PREFIX
from containers.firewall.rules import CLOSED
from containers.programs import is_local_engine

UNIT = "berth-firewall.service"
ENGINE_REQUIRES = Path("/etc/systemd/system/docker.service.requires", UNIT)
"""Made by `systemctl enable`: the engine does not start before the unit has done its work."""

# The table `raw` is asked before all others, and neither Docker nor a firewall of the distribution opens it again.
_TABLE = "-w -t raw"

SCRIPT = f"""\
#!/bin/sh
# Drops all that comes from the bridges of Berth's agents, until Berth has set the rules of each. Runs before Docker.
set -eu
for program in iptables ip6tables; do
    [ $program = iptables ] || [ -e /proc/net/if_inet6 ] || continue
    $program {_TABLE} -n -L {CLOSED} >/dev/null 2>&1 || $program {_TABLE} -N {CLOSED}
    $program {_TABLE} -C {CLOSED} -j DROP 2>/dev/null || $program {_TABLE} -A {CLOSED} -j DROP
    $program {_TABLE} -C PREROUTING -i {BRIDGE_PREFIX}+ -j {CLOSED} 2>/dev/null ||
        $program {_TABLE} -I PREROUTING 1 -i {BRIDGE_PREFIX}+ -j {CLOSED}
done
"""


def restarts_by_engine() -> bool:
    """Whether the engine may start agents again by itself, because their bridges are closed until the rules are set."""
    if settings.BERTH_BOOT_FIREWALL != "auto":
        return bool(settings.BERTH_BOOT_FIREWALL == "on")
    return is_local_engine() and ENGINE_REQUIRES.is_symlink()
