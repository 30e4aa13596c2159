"""Processor time that the service takes for one request, against the bare view's, and against another checkout's.

    python -m tests.benchmarks.processor [--rounds 5] [--seconds 3] [--projects 50] [--before CHECKOUT]

What else the machine does changes how long a request takes, but hardly what it costs. What the service takes while
nobody asks is taken off. `--before` is a worktree of another version, which is measured in the same rounds with the
database that DATABASE_URL_BEFORE names, or SQLite.
"""

import argparse
import os
import statistics
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.bare import serving_bare
from tests.benchmarks.harness import print_row, serving
from tests.benchmarks.load import press
from tests.benchmarks.processes import list_family
from tests.benchmarks.reads_table import THREADS, WORKERS, Row, ask, prepare
from tests.paths import ROOT

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """The processes of a server, and the processor time that they take while idle."""

    name: str
    port: int
    pid: int
    rows: list[Row]
    idle: float = 0.0

    def spent(self) -> float:
        """Seconds of all its processes."""
        return sum(map(_spent, list_family(self.pid)))

    def rest(self, seconds: float) -> None:
        began = self.spent()
        time.sleep(seconds)
        self.idle = (self.spent() - began) / seconds

    def cost(self, path: str, headers: Mapping[str, str], *, status: int, seconds: float) -> float:
        """Microseconds for one request."""
        press(self.port, path, headers, status=status, seconds=1)  # until it knows what it is asked for
        began, at = self.spent(), time.monotonic()
        load = press(self.port, path, headers, status=status, seconds=seconds)
        took = time.monotonic() - at
        return (self.spent() - began - self.idle * took) / (load.per_second * seconds) * 1e6


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    options = parser.parse_args()
    with ExitStack() as stack:
        sides = [_serve(stack, "now", ROOT, options.projects, {})]
        if options.before:
            other = {"DATABASE_URL": os.environ.get("DATABASE_URL_BEFORE", "")}
            sides.append(_serve(stack, "before", options.before.resolve(), options.projects, other))
        port, pid = stack.enter_context(serving_bare(workers=WORKERS, threads=THREADS))
        bare = Side("bare view", port, pid, [])
        for side in sides:
            side.rest(2 * options.seconds)
        print_row("µs of processor", bare.name, *(cell for side in sides for cell in (side.name, "÷ bare")))
        for number in range(len(sides[0].rows)):
            _report(number, bare, sides, options)


def _serve(stack: ExitStack, name: str, root: Path, projects: int, environment: Mapping[str, str]) -> Side:
    server = stack.enter_context(serving(image="none", root=root, environment=environment))
    assert server.process is not None
    return Side(name, server.port, server.process.pid, prepare(server, projects))


def _report(number: int, bare: Side, sides: list[Side], options: argparse.Namespace) -> None:
    row = sides[0].rows[number]
    whole = {name: value for name, value in row.headers.items() if name != "If-None-Match"}
    size = len(ask(sides[0].port, row.path, whole)[1])
    costs: dict[str, list[float]] = {side.name: [] for side in (bare, *sides)}
    for _ in range(options.rounds):
        costs[bare.name].append(bare.cost(f"/{size}", row.headers, status=200, seconds=options.seconds))
        for side in sides:
            own = side.rows[number]
            costs[side.name].append(side.cost(own.path, own.headers, status=own.status, seconds=options.seconds))
    medians = {name: statistics.median(values) for name, values in costs.items()}
    ours = (f"{medians[side.name]:.0f} {medians[bare.name] / medians[side.name]:.3f}".split() for side in sides)
    print_row(row.name, f"{medians[bare.name]:.0f}", *(cell for pair in ours for cell in pair))


if __name__ == "__main__":
    main()
