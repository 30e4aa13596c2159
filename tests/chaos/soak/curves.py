"""The repeated measurements, and whether they grow."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from tests.chaos.matrix.installation import Installation
from tests.chaos.soak.users import SoakUser

EVERY = 10.0
"""Seconds between two measurements."""
GROWTH = 1.15
"""A curve is flat if the median of its last third is at most this many times that of its second.
The first is for warming up."""

PROCESSES = ("serve", "watcher", "web worker")
GROWING = frozenset({"rows of projects_event", "rows of projects_sample"})
"""Data that are kept for a year, or for days, on purpose: drawn, and not judged."""


@dataclass
class Curve:
    """`leeway` is in the curve's own unit: a smaller difference does not count."""

    name: str
    unit: str
    leeway: float
    points: list[tuple[float, float]] = field(default_factory=list)

    @property
    def thirds(self) -> tuple[float, float]:
        """Returns the medians of the second and the last third."""
        third = len(self.points) // 3
        if not third:
            return 0.0, 0.0
        values = [value for _, value in self.points]
        return median(values[third : 2 * third]), median(values[2 * third :])

    @property
    def is_flat(self) -> bool:
        middle, last = self.thirds
        return self.name in GROWING or last <= max(middle * GROWTH, middle + self.leeway)


class Measuring:
    def __init__(self, installation: Installation, users: Sequence[SoakUser]) -> None:
        self._installation, self._users = installation, users
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._curves: dict[str, Curve] = {}
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    @property
    def curves(self) -> list[Curve]:
        return list(self._curves.values())

    def end(self) -> None:
        self._ended.set()
        self._thread.join(120)

    def _measure(self) -> None:
        look: Callable[[float], None]
        while not self._ended.wait(EVERY):
            for look in (self._look_at_processes, self._look_at_rows, self._look_at_engine, self._look_at_reads):
                # During a fault, nothing may answer.
                with suppress(OSError, ValueError, IndexError, psycopg.Error):
                    look(time.monotonic() - self._began)

    def _add(self, at: float, name: str, value: float, unit: str, leeway: float) -> None:
        self._curves.setdefault(name, Curve(name, unit, leeway)).points.append((at, value))

    def _look_at_processes(self, at: float) -> None:
        for process in PROCESSES:
            pids = self._installation.service.pids(process)
            self._add(at, f"memory of {process}", sum(map(read_memory, pids)), "MB", 15)
            self._add(at, f"descriptors of {process}", sum(map(count_descriptors, pids)), "", 20)

    def _look_at_rows(self, at: float) -> None:
        with psycopg.connect(self._installation.direct_url, connect_timeout=5) as connection:
            found: list[tuple[Any, ...]] = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename ~ '^(projects|accounts)_'"
            ).fetchall()
            for (table,) in found:
                [(rows,)] = connection.execute(f'SELECT count(*) FROM "{table}"'.encode()).fetchall()
                if rows or f"rows of {table}" in self._curves:
                    self._add(at, f"rows of {table}", rows, "", 100)

    def _look_at_engine(self, at: float) -> None:
        self._add(at, "containers", len(self._installation.instance.containers()), "", 10)
        self._add(at, "volumes", len(self._installation.instance.volumes()), "", 20)

    def _look_at_reads(self, at: float) -> None:
        now = time.monotonic()
        recent = [seconds for user in self._users for began, seconds in user.reads[-50:] if began > now - 6 * EVERY]
        self._add(at, "time of a list", median(recent) * 1000, "ms", 100)


def read_memory(pid: int) -> float:
    """Returns the megabytes of the process itself: shared memory counts in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def count_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
