"""Remembers what the usage file holds that nobody else knows, so that a damaged file can be written again.

That is calls in flight, advances, and usage that the service has not read. The service knows the rest, and tells it
with the entries.
"""

import sqlite3
import uuid
from collections import deque
from dataclasses import astuple, replace

from gateway.budgets.changes import Cell, Counts, Reservation, add, add_to, by_day
from gateway.budgets.tasks import Work

MOST_CELLS = 50_000
"""Rows of usage that are remembered one by one, some 20 MB. If the service is away for so long that there are more,
only the sums of days are."""
MOST_SHOWN = 16
"""Times that usage is remembered separately for which the service has asked, but which it has not stored. If it asks
more often, because it cannot store anything, the last ones count as one.
"""


class Mirror:
    """Used by the disk's thread only."""

    def __init__(self) -> None:
        self.reservations: dict[int, Reservation] = {}
        self._advances: dict[tuple[str, int], tuple[int, int]] = {}
        self._shown: deque[tuple[int, dict[Cell, Counts]]] = deque()
        """Usage that the service has asked for but perhaps not stored, with the number of its last change."""
        self._unread: dict[Cell, Counts] = {}
        self._seq = 0
        self._days = 0
        """How many sums of days there were when they were last added up, which is not repeated for each change."""

    def note(self, work: Work, answer: object) -> None:
        """Makes the change too, which is on disk now. `answer` is what the work returned."""
        reflect = getattr(work, "reflect", None)
        if reflect is not None:
            reflect(self, answer)

    def change_advance(self, project: str, hour: int, tokens: int, money: int) -> None:
        before = self._advances.get((project, hour), (0, 0))
        after = before[0] + tokens, before[1] + money
        self._advances[project, hour] = after
        if after == (0, 0):
            del self._advances[project, hour]

    def add(self, cells: dict[Cell, Counts], seq: int) -> None:
        add_to(self._unread, cells)
        if len(self._unread) > max(MOST_CELLS, 2 * self._days):
            self._unread = by_day(self._unread)
            self._days = len(self._unread)
        self._seq = max(self._seq, seq)

    def show(self, since: int) -> None:
        """Notes that the service has stored everything up to this number, and is now shown the rest."""
        while self._shown and self._shown[0][0] <= since:
            self._shown.popleft()
        if self._unread:
            self._shown.append((self._seq, self._unread))
            self._unread = {}
        while len(self._shown) > MOST_SHOWN:
            later, cells = self._shown.pop()
            add_to(cells, self._shown.pop()[1])
            self._shown.append((later, by_day(cells) if len(cells) > MOST_CELLS else cells))

    def forget_usage(self) -> None:
        """Forgets the usage, because the service has it under another store, or the file was written again."""
        self._shown.clear()
        self._unread, self._seq = {}, 0

    def write_again(self, connection: sqlite3.Connection) -> str:
        """Fills an empty file, and returns its id. Usage that the service may have read already counts as estimated."""
        store, cells = uuid.uuid4().hex, dict[Cell, Counts]()
        for _, shown in self._shown:
            add_to(cells, shown)
        add_to(cells, self._unread)
        values = [("store", store), ("seq", "0"), ("doubt", "1")]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", values)
        rows = [astuple(each) for each in self.reservations.values()]
        connection.executemany("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        advances = [(*place, *amounts) for place, amounts in self._advances.items()]
        connection.executemany("INSERT INTO advances VALUES (?, ?, ?, ?)", advances)
        seq = 0
        for cell, counts in cells.items():
            seq = add(connection, cell, replace(counts, estimated=max(counts.estimated, counts.requests)))
        self.forget_usage()
        self.add(cells, seq)
        return store
