"""Names the process that works on a row, so that another process on the machine can find out whether it has ended.

Only the kernel's word counts, and only about processes of this boot and of this PID namespace. Nothing is known about
any other holder.
"""

import os
from functools import cache
from pathlib import Path
from uuid import UUID

MOST = 100
"""The maximum length of a holder's name."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NUMBERS = Path("/proc/self/ns/pid")


def name_process() -> str:
    """Returns the name of this process in up to 64 characters, or an empty text if none could be unique."""
    place = _find_place()
    return f"{place} {os.getpid()}" if place else ""


def name_holder(claim_id: UUID) -> str:
    """Returns the name of this process as the holder of this claim, or an empty text like `name_process`."""
    process = name_process()
    return f"{claim_id.hex} {process}" if process else ""


def process_has_ended(name: str) -> bool:
    """Returns whether this names a process that has certainly ended.

    If another process has the number by now, nothing is certain, so this returns False.
    """
    match name.split(" "):
        case [place, number] if place and place == _find_place() and number.isdecimal() and int(number):
            return _is_free(int(number))
        case _:
            return False


def is_elsewhere(name: str) -> bool:
    """Returns whether this names a process on another machine or in another container; False if that is unknown."""
    match name.split(" "):
        case [place, _]:
            return bool(_find_place()) and place != _find_place()
        case _:
            return False


def describe_process(name: str) -> str:
    """Describes a process for an operator who should end it. A number means something only on its own machine."""
    match name.split(" "):
        case [place, number] if place != _find_place():
            return f"process {number} on another machine, or in another container"
        case _:
            return f"process {name.rpartition(' ')[2]}"


def has_ended(holder: str, claim_id: UUID | None) -> bool:
    """Returns whether this is the holder of this claim and its process has certainly ended.

    A server of an older version does not name itself and leaves the former holder, whose claim id differs.
    """
    claim, _, process = holder.partition(" ")
    return claim_id is not None and claim == claim_id.hex and process_has_ended(process)


def _is_free(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


@cache
def _find_place() -> str:
    """Returns the ids of this boot and of this PID namespace. Neither changes during the life of a process."""
    try:
        return f"{_BOOT.read_text().strip()}/{_NUMBERS.stat().st_ino}"
    except OSError:
        return ""
