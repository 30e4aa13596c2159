"""Calls that wait for room in their project's budget."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from gateway.budgets.advance import Advances
from gateway.budgets.refusing import need_of, refusal_of, reserved_by_others
from gateway.budgets.sizes import Sizes
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry, Price

Waits = Callable[[], None]


class Room(NamedTuple):
    """The tokens that an answer may have, and by which entry and price."""

    entry: Entry
    price: Price | None
    output: int


class Waiting:
    def __init__(self, totals: Totals, sizes: Sizes, *, patience: float) -> None:
        self._totals = totals
        self._sizes = sizes
        self._patience = patience
        self._settled: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._changed: dict[str, Entry] = {}

    def latest(self, entry: Entry) -> Entry:
        """Returns the entry that counts now for the project of this one."""
        return self._changed.get(entry.project, entry)

    def change(self, project: str, entry: Entry | None) -> None:
        """None: the project is void."""
        self._changed.pop(project, None)
        if entry is not None:
            self._changed[project] = entry
        self.wake(project)

    def wake(self, project: str) -> None:
        """Has the project's calls look for room again."""
        self._settled.pop(project, asyncio.Event()).set()

    async def find_room(
        self, entry: Entry, price_by: Callable[[Entry], Price | None], hour: int, advances: Advances, waits: Waits, *,
        given: int, least: int, most: int,
    ) -> Room:  # fmt: skip
        """Calls in flight mostly need less than they have reserved. The entry may change meanwhile. Raises
        RefusedError."""
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            entry = self.latest(entry)
            price, settled = price_by(entry), self._settled[entry.project]
            room = self._totals.room(entry, hour, price=price, given=given, with_reserved=True)
            output = min([most, *(each for each in room.values() if each is not None)])
            if output < most and advances.take_back(entry.project):
                continue
            if output >= least:
                self._sizes.note(entry.project, hour, need_of(price, given=given, least=least))
                return Room(entry, price, output)
            if refusal := refusal_of(self._totals, self._sizes, entry, hour, price=price, given=given, least=least):
                raise refusal
            waits()
            try:
                async with asyncio.timeout_at(deadline):
                    await settled.wait()
            except TimeoutError:
                raise reserved_by_others() from None
