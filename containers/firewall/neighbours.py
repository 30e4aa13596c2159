"""Room in the kernel's table of neighbours, which the machine and all of its containers share.

An agent that sends to an address of its own network takes a place there for some seconds, also where nobody has that
address. Where no place is left, the machine itself finds nobody new on any network. An agent has 1,022 addresses in
reach, and 65,534 on a network that an older Berth has made; the kernel begins with 1,024 places.
(https://docs.kernel.org/networking/ip-sysctl.html, `neigh/default/gc_thresh3`)
"""

import logging
from contextlib import suppress
from pathlib import Path

from containers.programs import ProgramError, run_program

logger = logging.getLogger(__name__)

PLACES = 131_072
"""At least so many, of half a kilobyte each while they are taken: twice what the largest network has addresses."""

_SOON = PLACES // 2
"""From here on the kernel looks for places that are not needed, before it takes another one."""

_LIMIT = 10.0
_MOST = "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
"""Only the machine's own network namespace has it."""

_FROM = "/proc/sys/net/ipv4/neigh/default/gc_thresh2"
_CHANGE = f"ip ntable change name arp_cache thresh2 {_SOON} thresh3 {PLACES}"
_TOO_FEW = (
    "Agents can fill this machine's table of neighbours, because Berth may not set net.ipv4.neigh.default.gc_thresh3."
)


class _Told:
    """Whether the log has it already."""

    is_told = False


def make_room() -> None:
    """Gives the table as many places, unless it has more. Writes into the log once where that cannot be done."""
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
    """The same as lines of a shell script."""
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
