"""The firewall's scripts inside the sandbox of their units: few capabilities, and almost nothing is writable."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.firewall import query_limits
from containers.firewall.boot import SCRIPT
from containers.firewall.rules import CLOSED
from containers.firewall.script import as_script
from containers.programs import is_root
from tests.containers.firewall.router import Router, make_router
from tests.paths import ROOT

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter", "unshare", "setpriv")))),
        reason="takes root, iptables, ip, nsenter, unshare and setpriv",
    ),
]
CONFINED = """\
set -e
mount -t sysfs none /sys
for path in $1; do [ ! -d "$path" ] || mount --rbind "$path" "$path"; done
mount -o remount,bind,ro /
if [ "$2" = yes ]; then
    mount --bind /proc/sys /proc/sys
    for place in /proc/sys /sys; do mount -o remount,bind,ro "$place"; done
fi
exec setpriv --no-new-privs --bounding-set "$3" --inh-caps -all sh "$4"
"""
"""ProtectSystem=strict of the root file system but for ReadWritePaths, ProtectKernelTunables, and the capabilities."""


@pytest.fixture(scope="module")
def units() -> dict[str, str]:
    """Returns what `install-service` writes for a checkout that belongs to root, by name."""
    shown = subprocess.run(
        [ROOT / "config/bin/install-service", "--print"],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    _, *parts = re.split(r"^# \S*/(berth\S*\.service)\s", shown, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


def run_as(unit: str, router: Router, script: Path) -> "subprocess.CompletedProcess[str]":
    def value(name: str) -> str:
        found = re.search(rf"^{name}=(.*)$", unit, re.MULTILINE)
        return found[1] if found else ""

    named = value("CapabilityBoundingSet")
    words = named.lstrip("~").lower().replace("cap_", "").split()
    first, sign = ("+all", "-") if named.startswith("~") else ("-all", "+")
    bounding = ",".join([first, *(f"{sign}{word}" for word in words)])
    writable = " ".join(path.lstrip("-") for path in value("ReadWritePaths").split())
    assert value("ProtectSystem") == "strict"
    command = ["unshare", "--mount", "sh", "-c", CONFINED, "sh"]
    arguments = [writable, value("ProtectKernelTunables"), bounding, str(script)]
    return subprocess.run(
        router.on("router", *command, *arguments), capture_output=True, text=True, check=False, timeout=120
    )


def test_closing_the_bridges_works_inside_its_unit(router: Router, units: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "close-agents"
    script.write_text(SCRIPT)
    for _ in ("at boot", "where another firewall is reloaded"):
        done = run_as(units["berth-firewall.service"], router, script)
        assert (done.returncode, done.stderr) == (0, "")
        for program in ("iptables", "ip6tables"):
            listed = subprocess.run(
                router.on("router", program, "-w", "-t", "raw", "-S"), capture_output=True, text=True, check=True
            ).stdout
            assert f"-A PREROUTING -i berth-+ -j {CLOSED}\n" in listed
            assert f"-A {CLOSED} -i {router.bridge} -j RETURN\n" not in listed
        router.set_rules()
        router.remove_rules()


def test_the_rules_can_be_set_inside_berth_s_unit(router: Router, units: dict[str, str], tmp_path: Path) -> None:
    """The bridge must pass bridged packets to iptables, although /proc/sys and /sys are read-only."""
    bridge = f"{router.bridge[:-1]}z"
    for words in (f"ip link add {bridge} type bridge", f"ip link set {bridge} up"):
        subprocess.run(router.on("router", *words.split()), check=True)
    subprocess.run(router.on("router", "sh", "-c", "echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables"), check=True)
    script = tmp_path / "rules"
    script.write_text(as_script(Router(router.name, bridge).rules()) + "! touch /etc/x /proc/sys/net/x 2>/dev/null\n")
    done = run_as(units["berth.service"], router, script)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_agent_s_namespace_can_be_entered_inside_berth_s_unit(
    router: Router, units: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "names"
    script.write_text(
        f"nsenter --net=/run/netns/{router.name}agent iptables-restore -w <<'RULES'\n{query_limits.RULES}RULES\n"
    )
    done = run_as(units["berth.service"], router, script)
    assert (done.returncode, done.stderr) == (0, "")
