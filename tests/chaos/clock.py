"""The clock of a service that libfaketime changes. The monotonic clock of its processes stays right, as in reality."""

from datetime import timedelta
from pathlib import Path

LIBRARY = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
"""Empty if libfaketime is not installed."""


def set_clock(file: Path, by: timedelta = timedelta(0)) -> None:
    """Sets the clock of the processes that read `file` this far from the right one."""
    new = file.with_suffix(".new")
    new.write_text(f"{by.total_seconds():+.3f}\n")
    new.rename(file)


def faked_clock(file: Path) -> dict[str, str]:
    """Returns the environment of a process whose clock `file` sets."""
    return {
        "LD_PRELOAD": str(LIBRARY[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
