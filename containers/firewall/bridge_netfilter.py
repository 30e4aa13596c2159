"""Ensures that the rules apply to packets from one agent to another, which never leave their bridge.

The switches `net.bridge.bridge-nf-call-…` decide this for all bridges. Docker turns them on, and hosts of virtual
machines turn them off. Each bridge also has its own switches; one of the two is enough.
(https://docs.kernel.org/networking/bridge.html, `nf_call_iptables`)
"""

from contextlib import suppress
from pathlib import Path

from containers.firewall.bridge import is_here
from containers.programs import ProgramError, run_program

_LIMIT = 10.0
_OF_ALL = "/proc/sys/net/bridge"
"""Missing if the kernel's module for it is not loaded, without which no switch has an effect."""

_HIDDEN = (
    "the kernel shows {} no packets between agents (net.bridge.bridge-nf-call-{} is 0), and Berth cannot change that."
)


def shows_packets(bridge: str, program: str) -> bool:
    """Returns whether the program's rules apply between two ports of the bridge, or the bridge is not on this host."""
    of_all, of_one = _switches(bridge, program)
    return not is_here(bridge) or _read(of_all) == "1" or (_read(of_all) == "0" and _read(of_one) == "1")


def show_packets(bridge: str, program: str) -> None:
    """Turns on the bridge's own switch, which no other program turns off, or else the global one.

    Raises `ProgramError` if neither works.
    """
    if not is_here(bridge):
        return
    of_all, _ = _switches(bridge, program)
    if not _read(of_all):
        with suppress(ProgramError):
            run_program("modprobe", "--quiet", "br_netfilter", seconds=_LIMIT)
    try:
        run_program("ip", "link", "set", "dev", bridge, "type", "bridge", f"nf_call_{program}", "1", seconds=_LIMIT)
    except ProgramError:
        with suppress(OSError):
            _write(of_all, "1")
    if not shows_packets(bridge, program):
        raise ProgramError(_HIDDEN.format(program, program))


def show_by_script(bridge: str, program: str) -> list[str]:
    """Returns the same as lines of a shell script. They end the script if the packets are not shown."""
    of_all, of_one = _switches(bridge, program)
    return [
        f"if [ -d /sys/class/net/{bridge} ]; then",
        f"    [ -e {of_all} ] || modprobe -q br_netfilter 2>/dev/null || :",
        f"    ip link set dev {bridge} type bridge nf_call_{program} 1 2>/dev/null ||",
        f"        {{ echo 1 >{of_all}; }} 2>/dev/null || :",
        f'    case "$(cat {of_all} {of_one} 2>/dev/null)" in',
        "        1* | 0?1) ;;",
        f'        *) echo "{_HIDDEN.format(program, program).replace("the", "The", 1)}" >&2; exit 1 ;;',
        "    esac",
        "fi",
    ]


def _switches(bridge: str, program: str) -> tuple[str, str]:
    """Returns the files of the global switch and of this bridge's own switch."""
    return f"{_OF_ALL}/bridge-nf-call-{program}", f"/sys/class/net/{bridge}/bridge/nf_call_{program}"


def _read(switch: str) -> str:
    """Returns the switch's value, or an empty string if there is no such switch."""
    try:
        return Path(switch).read_text().strip()
    except OSError:
        return ""


def _write(switch: str, value: str) -> None:
    Path(switch).write_text(value)
