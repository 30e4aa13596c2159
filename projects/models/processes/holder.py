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


def name_process() -> str:
    """This process, in up to 64 characters. Empty where nothing tells it from processes elsewhere."""
    place = _find_place()
    return f"{place} {os.getpid()}" if place else ""


def name_holder(claim_id: UUID) -> str:
    """This process as the holder of this claim. Empty as above."""
    process = name_process()
    return f"{claim_id.hex} {process}" if process else ""


def process_has_ended(name: str) -> bool:
    """Whether this is the name of a process, and that one is certain to have ended.

    A number that another process has by now proves nothing.
    """
    match name.split(" "):
        case [place, number] if place and place == _find_place() and number.isdecimal() and int(number):
            return _is_free(int(number))
        case _:
            return False


def is_elsewhere(name: str) -> bool:
    """Whether this is the name of a process on another machine, or in another container. Not where nothing tells."""
    match name.split(" "):
        case [place, _]:
            return bool(_find_place()) and place != _find_place()
        case _:
            return False


def describe_process(name: str) -> str:
    """For the process that is to end it: its number says something only where it was given."""
    match name.split(" "):
        case [place, number] if place != _find_place():
            return f"process {number} on another machine, or in another container"
        case _:
            return f"process {name.rpartition(' ')[2]}"


def has_ended(holder: str, claim_id: UUID | None) -> bool:
    """Whether this is the holder of this claim, and its process is certain to have ended.

    An older server claims without naming itself and leaves the name of the holder before: that is of another claim.
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
    """The boot of this machine, and the table that numbers this process. Neither changes while a process lives."""
    try:
        return f"{_BOOT.read_text().strip()}/{_NUMBERS.stat().st_ino}"
    except OSError:
        return ""
