"""A process of the service gets no more processes and threads from the kernel."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.breaking_engine_parts import find_pids
from tests.chaos.matrix.installation import Installation
from tests.waiting import wait_until

GROUPS = Path("/sys/fs/cgroup")


def find_group() -> Path | None:
    """Returns the control group of this process that limits processes, and below which others can be created.

    A limit for a user does not apply to root.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        group = GROUPS / controllers / path.lstrip("/")
        is_ours = controllers in {"", "pids"} and os.access(group / "cgroup.procs", os.W_OK)
        if is_ours and (controllers or "pids" in (group / "cgroup.subtree_control").read_text().split()):
            return group
    return None


def without_processes(process: str, *, killed: tuple[str, ...] = (), room: int = 0) -> Breaking:
    """Existing ones continue unless they are killed. There is `room` for this many new ones or threads."""

    @contextmanager
    def limited(installation: Installation) -> Iterator[None]:
        above = find_group()
        assert above is not None
        group = above / f"berth-chaos-{os.getpid()}-{time.monotonic_ns()}"
        group.mkdir()
        ending = set().union(*(installation.service.pids(each) for each in killed))
        try:
            for pid in ending | find_pids(installation, process):
                (group / "cgroup.procs").write_text(str(pid))
            (group / "pids.max").write_text("1")
            for pid in ending:
                os.kill(pid, signal.SIGKILL)
            if room:
                wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ending))
                (group / "pids.max").write_text(str(int((group / "pids.current").read_text()) + room))
            yield
        finally:
            (group / "pids.max").write_text("max")
            _leave(group, above)

    return limited


@contextmanager
def engine_without_processes(installation: Installation) -> Iterator[None]:
    """A Go program that gets no thread ends. Containers continue without it only if they are configured to."""
    try:
        with without_processes("engine")(installation):
            yield
    finally:
        installation.engine.revive()


def _leave(group: Path, above: Path) -> None:
    """Moves its processes, and those that they have started meanwhile, back to their former group."""
    while pids := (group / "cgroup.procs").read_text().split():
        for pid in pids:
            with suppress(ProcessLookupError):
                (above / "cgroup.procs").write_text(pid)
    group.rmdir()
