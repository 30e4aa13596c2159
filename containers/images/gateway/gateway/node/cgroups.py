"""Reads what a container uses from the control groups of its node, versions 1 and 2.

The answer has the form of the engine's GET /containers/{id}/stats, so that the service reads both in the same way.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PLACES = ("docker/{}", "system.slice/docker-{}.scope")
"""Where the engine puts containers: with its driver cgroupfs, and with systemd. `cgroup-parent` in daemon.json names
another folder instead of `docker` or `system.slice`."""

DEPTH = 4
"""How many folders such a parent may have on its path."""

UNLIMITED = 2**63 - 1

_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class _Files:
    """Paths of the files below a group's folder, or in version 1 below the folder of a controller and the group."""

    memory: str
    limit: str
    details: str
    cache: str
    """The line of `details` with the page cache that the kernel can take back."""
    cpu: str
    pids: str


_ONE = _Files(
    memory="memory/{}/memory.usage_in_bytes",
    limit="memory/{}/memory.limit_in_bytes",
    details="memory/{}/memory.stat",
    cache="total_inactive_file",
    cpu="cpuacct/{}/cpuacct.usage",
    pids="pids/{}/pids.current",
)
_TWO = _Files(
    memory="{}/memory.current",
    limit="{}/memory.max",
    details="{}/memory.stat",
    cache="inactive_file",
    cpu="{}/cpu.stat",
    pids="{}/pids.current",
)


def read_counters(root: Path, container: str) -> dict[str, Any] | None:
    """Returns None if `root`, the node's /sys/fs/cgroup, has no group of a container with this id."""
    if not _ID.fullmatch(container):
        return None
    files = _TWO if (root / "cgroup.controllers").exists() else _ONE
    for group in _find_groups(root if files is _TWO else root / "memory", container):
        try:
            return _read(root, files, group)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # the group is being removed
            return None
    return None


def _find_groups(top: Path, container: str) -> Iterator[str]:
    """Yields where the container's group may be below `top`: the usual places, and then those with its name."""
    for place in PLACES:
        yield place.format(container)
    names = {place.format(container).rpartition("/")[2] for place in PLACES}
    for folder, below, _ in os.walk(top):  # which ignores folders that disappear meanwhile
        parent = Path(folder).relative_to(top)
        yield from (str(parent / name) for name in names.intersection(below))
        if len(parent.parts) == DEPTH:
            below.clear()


def _read(root: Path, files: _Files, group: str) -> dict[str, Any]:
    def text_of(name: str) -> str:
        return (root / name.format(group)).read_text()

    cpu = text_of(files.cpu)
    cache = _find(text_of(files.details), files.cache)
    return {
        "read": datetime.now(UTC).isoformat(),
        "memory_stats": {
            "usage": int(text_of(files.memory)),
            "limit": _limit(text_of(files.limit)),
            "stats": {files.cache: cache},
        },
        "cpu_stats": {"cpu_usage": {"total_usage": int(cpu) if files is _ONE else _find(cpu, "usage_usec") * 1000}},
        "pids_stats": {"current": int(text_of(files.pids))},
    }


def _limit(text: str) -> int:
    return UNLIMITED if text.strip() == "max" else int(text)


def _find(text: str, name: str) -> int:
    """Returns 0 if no line has this name."""
    lines = (line.split() for line in text.splitlines())
    return next((int(line[1]) for line in lines if len(line) == 2 and line[0] == name), 0)
