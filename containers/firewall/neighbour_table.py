"""Enlarges the kernel's neighbour table, which the machine and all of its containers share.

An agent that sends to an address of its own network takes an entry in it for some seconds, even if no host has that
address. When the table is full, the machine itself can reach no new host on any network. An agent can reach 1,022
addresses, or 65,534 on a network of an older Berth; the kernel's default is 1,024 entries.
(https://docs.kernel.org/networking/ip-sysctl.html, `neigh/default/gc_thresh3`)
"""

import logging
from contextlib import suppress
from pathlib import Path

from containers.programs import ProgramError, run_program

logger = logging.getLogger(__name__)

PLACES = 131_072
"""The minimum size of the table: twice the addresses of the largest network. An entry in use takes half a kilobyte."""

_SOON = PLACES // 2
"""Above this number, the kernel removes unneeded entries before it adds another one."""

_LIMIT = 10.0
_MOST = "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
"""The file of the limit. It exists only in the machine's own network namespace."""

_FROM = "/proc/sys/net/ipv4/neigh/default/gc_thresh2"
_CHANGE = f"ip ntable change name arp_cache thresh2 {_SOON} thresh3 {PLACES}"
_TOO_FEW = (
    "Agents can fill this machine's table of neighbours, because Berth may not set net.ipv4.neigh.default.gc_thresh3."
)


class _Told:
    """Remembers whether the warning was logged already."""

    is_told = False


def make_room() -> None:
    """Raises the table's limit to `PLACES` if it is lower. Logs a warning once if that is not possible."""
    if not _is_small():
        return
    name, *arguments = _CHANGE.split()
    try:
        run_program(name, *arguments, seconds=_LIMIT)
    except ProgramError:
        with suppress(OSError):
            _write(_MOST, PLACES)
            _write(_FROM, _SOON)
    if _is_small() and not _Told.is_told:
        _Told.is_told = True
        logger.warning(_TOO_FEW)


def room_by_script() -> list[str]:
    """Returns the same as lines of a shell script."""
    return [
        f'if [ -e {_MOST} ] && [ "$(cat {_MOST})" -lt {PLACES} ]; then',
        f"    {_CHANGE} 2>/dev/null ||",
        f"        {{ echo {PLACES} >{_MOST} && echo {_SOON} >{_FROM}; }} 2>/dev/null ||",
        f'        echo "{_TOO_FEW}" >&2',
        "fi",
    ]


def _is_small() -> bool:
    places = _read(_MOST)
    return places.isdecimal() and int(places) < PLACES


def _read(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError:
        return ""


def _write(file: str, value: int) -> None:
    Path(file).write_text(str(value))
