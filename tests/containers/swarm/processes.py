"""Finds the processes of an engine and of its containers in /proc."""

from contextlib import suppress
from pathlib import Path


def find_processes(word: str) -> list[int]:
    """Returns the processes whose command contains this path: an engine's containerd and its containers' shims."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def descendants(pid: int) -> list[int]:
    with suppress(OSError):
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        return [*children, *(each for child in children for each in descendants(child))]
    return []
