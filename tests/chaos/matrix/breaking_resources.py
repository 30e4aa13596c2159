"""A process of the service gets nothing more from the kernel: no descriptors, or no memory and so no threads."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.breaking_engine_parts import find_pids
from tests.chaos.matrix.installation import Installation


def _limiting(process: str, what: int, find_used: Callable[[int], int]) -> Breaking:
    @contextmanager
    def limited(installation: Installation) -> Iterator[None]:
        before = {}
        for pid in find_pids(installation, process):
            soft, hard = resource.prlimit(pid, what)
            before[pid] = soft, hard
            resource.prlimit(pid, what, (find_used(pid), hard))
        try:
            yield
        finally:
            for pid, limits in before.items():
                with suppress(ProcessLookupError):  # it was replaced
                    resource.prlimit(pid, what, limits)

    return limited


def without_descriptors(process: str) -> Breaking:
    """Files, sockets and pipes: open ones continue."""
    return _limiting(process, resource.RLIMIT_NOFILE, _count_descriptors)


def without_memory(process: str) -> Breaking:
    """It keeps what it has. A thread needs a stack, so there are no new threads either."""
    return _limiting(process, resource.RLIMIT_AS, _measure_memory)


def _count_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _measure_memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextmanager
def service_read_only(installation: Installation) -> Iterator[None]:
    """Its data directory and temporary files. It may keep writing to open files."""
    with installation.service_disk.read_only("var"), installation.service_disk.read_only("tmp"):
        yield


@contextmanager
def service_without_inodes(installation: Installation) -> Iterator[None]:
    with installation.service_disk.without_inodes():
        yield


@contextmanager
def engine_without_inodes(installation: Installation) -> Iterator[None]:
    with installation.engine_disk.without_inodes():
        yield
