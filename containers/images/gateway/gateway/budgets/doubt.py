"""Whether what was spent is only known once the service has told it, because counts were lost."""

import asyncio

from gateway.budgets import rows
from gateway.budgets.disk import Disk
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry

SETTLED_AFTER = 60.0
"""Seconds after which no entry is on its way any more that was made before the service has read a store."""


class Doubt:
    def __init__(self, disk: Disk, totals: Totals) -> None:
        self._disk = disk
        self._totals = totals
        self._known_since: float | None = None
        self.is_there = False

    def begin(self) -> None:
        self.is_there, self._known_since = True, None

    def note_known(self) -> None:
        """Notes that the service knows the present store."""
        if self._known_since is None:
            self._known_since = asyncio.get_running_loop().time()

    def awaits_word(self, entry: Entry) -> bool:
        """Whether the entry does not say what was spent before counts were lost. One that names the present store was
        made by a service that has read all there was of the former ones.
        """
        is_limited = self.is_there and entry.budget.is_set
        return is_limited and not any(each.store in self._totals.stores for each in entry.spent)

    def note_untold(self, projects: int) -> None:
        """Ends the doubt when the service has read this store for a while, and no entry leaves anything out. Entries
        that it makes later are complete.
        """
        known, clock = self._known_since, asyncio.get_running_loop().time
        if not self.is_there or projects or known is None or clock() < known + SETTLED_AFTER:
            return
        self.is_there = False
        self._disk.keep(rows.EndDoubt(self._totals.stores[-1]))
