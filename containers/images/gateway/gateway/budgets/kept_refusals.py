"""Keeps on the disk what Telegram and the provider refuse, so that a gateway that is killed or updated still knows it.

One row for each refusal that stands. Moments are of the wall clock, because no other one outlasts the machine.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from gateway.budgets.disk import Disk
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.tasks import Work
from gateway.proofs import Fact

Row = tuple[str, Fact, float]
"""A project, what is refused, and since when."""
Restore = Callable[[Iterable[Row]], None]


class KeptRefusals:
    def __init__(self, disk: Disk, write: Callable[[Work], None]) -> None:
        """`write` submits a work until the disk accepts it, perhaps after a later one."""
        self._disk = disk
        self._write = write
        self._standing: dict[tuple[str, Fact], float] = {}
        self._dropped: set[tuple[str, Fact]] = set()
        """What no longer stands of rows that are not read yet."""
        self._restore: Restore | None = None
        self._is_read = False

    async def tell(self, restore: Restore) -> None:
        """Calls `restore` with what an earlier process has kept: now, or in `read_late` if the disk cannot be read."""
        self._restore = restore
        restore(await self.read())

    async def read_late(self) -> None:
        if self._restore is not None and not self._is_read:
            self._restore(await self.read())

    async def read(self) -> list[Row]:
        """Returns what an earlier process has kept; nothing if the disk cannot be read. The service knows most too."""
        kept: list[Row] = []
        with suppress(DiskError):
            kept = [row for row in await self._disk.run(_read, is_read=True) if row[:2] not in self._dropped]
            self._is_read = True
        self._standing = {(project, fact): at for project, fact, at in kept} | self._standing
        return kept

    def keep(self, project: str, fact: Fact, at: float) -> None:
        self._standing[project, fact] = at
        self._write(_Writing(self._standing, project, fact))

    def drop(self, project: str, facts: Iterable[Fact]) -> None:
        dropped = list(facts)
        if not self._is_read:
            self._dropped.update((project, fact) for fact in dropped)
        for fact in dropped:
            self._standing.pop((project, fact), None)
            self._write(_Writing(self._standing, project, fact))

    def write_again(self) -> None:
        """Writes all that stands to a file that has replaced a damaged one."""
        for project, fact in self._standing:
            self._write(_Writing(self._standing, project, fact))


@dataclass(frozen=True, slots=True, eq=False)
class _Writing:
    """Writes what stands when it runs, because works may change places."""

    standing: Mapping[tuple[str, Fact], float]
    project: str
    fact: Fact

    @property
    def key(self) -> object:
        """See `merge`."""
        return _Writing, self.project, self.fact

    def __call__(self, connection: sqlite3.Connection) -> None:
        at = self.standing.get((self.project, self.fact))
        if at is None:
            connection.execute("DELETE FROM refusals WHERE project = ? AND fact = ?", (self.project, self.fact))
        else:
            connection.execute("INSERT OR REPLACE INTO refusals VALUES (?, ?, ?)", (self.project, self.fact, at))


def _read(connection: sqlite3.Connection) -> list[Row]:
    """Returns the rows that this version understands."""
    rows = connection.execute("SELECT project, fact, at FROM refusals").fetchall()
    known = frozenset(map(str, Fact))
    return [(project, Fact(fact), at) for project, fact, at in rows if fact in known]
