"""The rows of the table for the service itself: the memory of each process, and how soon it serves once more."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.harness import Server, print_row, start, timed, wait_for_answer


def report_memory(server: Server) -> None:
    """Proportional set size: pages that several processes share count in each by its part."""
    print_row("process", "memory MB")
    total = 0
    assert server.process is not None
    for number, pid in enumerate(list_family(server.process.pid)):
        size = _memory(pid)
        total += size
        print_row("supervisor" if number == 0 else f"child {number}", f"{size / 1024:.0f}")
    print_row("all of them", f"{total / 1024:.0f}")


def report_readiness(server: Server, *, rounds: int) -> None:
    """Ends the server, and does what `make run` does when environment, engine and images exist."""
    assert server.process is not None
    server.process.terminate()
    server.process.wait(60)
    print_row("once more", "until it serves s")
    for _ in range(rounds):
        serving, process = timed(lambda: _start(server))
        process.terminate()
        process.wait(60)
        print_row("", f"{serving / 1000:.1f}")


def _start(server: Server) -> "subprocess.Popen[bytes]":
    log = Path(server.environment["BERTH_DATA_DIR"], "again.log")
    process = start(server, log, "--prepare")
    wait_for_answer(server.port, process, log)
    return process


def list_family(pid: int) -> Iterator[int]:
    """The process and all its descendants."""
    yield pid
    with suppress(OSError):  # it has ended meanwhile
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in task.read_text().split():
                yield from list_family(int(child))


def _memory(pid: int) -> int:
    """Kilobytes; 0 if the process has ended meanwhile."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return 0
