"""Which process works on a row, so that another one beside it can tell that it has ended.

Only the kernel is believed, and only about its own processes: those of this boot that share this process's numbers. Of
any other holder nothing is known.
"""

import os
from functools import cache
from pathlib import Path
from uuid import UUID

MOST = 100
"""Characters of a holder."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NUMBERS = Path("/proc/self/ns/pid")


def name_holder(claim_id: UUID) -> str:
    """This process as the holder of this claim. Empty where nothing tells it from processes elsewhere."""
    place = _find_place()
    return f"{claim_id.hex} {place} {os.getpid()}" if place else ""


def has_ended(holder: str, claim_id: UUID | None) -> bool:
    """Whether this is the holder of this claim, and its process is certain to have ended.

    An older server claims without naming itself and leaves the name of the holder before: that is of another claim. A
    number that another process has by now proves nothing.
    """
    number = _find_number(holder, claim_id) if claim_id else 0
    if not number:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _find_number(holder: str, claim_id: UUID) -> int:
    """Of the process. Zero where it is not among those that are numbered here."""
    match holder.split(" "):
        case [claim, place, number] if claim == claim_id.hex and place and place == _find_place():
            return int(number) if number.isdecimal() else 0
        case _:
            return 0


@cache
def _find_place() -> str:
    """The boot of this machine, and the table that numbers this process. Neither changes while a process lives."""
    try:
        return f"{_BOOT.read_text().strip()}/{_NUMBERS.stat().st_ino}"
    except OSError:
        return ""
