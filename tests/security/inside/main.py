"""The program of the probe image: does what `MODE` says, prints the result, then waits for its end.

Runs inside a container with Python's standard library only.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from tests.security.inside import doors, kernel, limits, quotas, syscalls

FOUND = "FOUND "
"""Precedes the line of JSON with the result of a mode."""

MODES: dict[str, Callable[[], object]] = {
    "door": doors.open_door,
    "knock": lambda: doors.knock_at_all(json.loads(os.environ["DOORS"])),
    "kernel": kernel.try_everything,
    "forks": limits.fork_many,
    "memory": limits.take_memory,
    "tmp": limits.fill_tmp,
    "log": limits.fill_log,
    "greedy": quotas.take_all,
    "modest": quotas.need_all,
    "syscalls": syscalls.try_all,
    "idle": lambda: "idle",
}


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, _end)
    sys.stdout.write('AGENT-STATUS {"v":1,"state":"running","code":"","detail":""}\n')
    found = MODES[os.environ.get("MODE", "idle")]()
    sys.stdout.write(f"{FOUND}{json.dumps(found)}\n")
    sys.stdout.flush()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
