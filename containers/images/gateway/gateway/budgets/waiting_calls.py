"""Makes calls wait for room in their project's budget."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from gateway.budgets.advance import Advances
from gateway.budgets.budget_refusals import least_cost, refusal_of, reserved_by_others
from gateway.budgets.recent_sizes import RecentSizes
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry, Price

OnWait = Callable[[], None]


class Room(NamedTuple):
    """The tokens that an answer may have, and the entry and price that allow them."""

    entry: Entry
    price: Price | None
    output: int


class WaitingCalls:
    def __init__(self, totals: Totals, sizes: RecentSizes, *, patience: float) -> None:
        self._totals = totals
        self._sizes = sizes
        self._patience = patience
        self._settled: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._changed: dict[str, Entry] = {}

    def latest(self, entry: Entry) -> Entry:
        """Returns the current entry of this entry's project."""
        return self._changed.get(entry.project, entry)

    def change(self, project: str, entry: Entry | None) -> None:
        """Replaces the project's entry. None means that the project is void."""
        self._changed.pop(project, None)
        if entry is not None:
            self._changed[project] = entry
        self.wake(project)

    def wake(self, project: str) -> None:
        """Makes the project's waiting calls look for room again."""
        self._settled.pop(project, asyncio.Event()).set()

    async def find_room(
        self, entry: Entry, find_price: Callable[[Entry], Price | None], hour: int, advances: Advances,
        on_wait: OnWait, *, input_tokens: int, min_output: int, max_output: int,
    ) -> Room:  # fmt: skip
        """Waits for room, because most calls in flight need less than they have reserved.

        The project's entry may change meanwhile. Raises RefusedError if there is no room in time.
        """
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            entry = self.latest(entry)
            price, settled = find_price(entry), self._settled[entry.project]
            room = self._totals.room(entry, hour, price=price, input_tokens=input_tokens, with_reserved=True)
            output = min([max_output, *(each for each in room.values() if each is not None)])
            if output < max_output and advances.release(entry.project):
                continue
            if output >= min_output:
                self._sizes.note(
                    entry.project, hour, least_cost(price, input_tokens=input_tokens, min_output=min_output)
                )
                return Room(entry, price, output)
            if refusal := refusal_of(
                self._totals, self._sizes, entry, hour, price=price, input_tokens=input_tokens, min_output=min_output
            ):
                raise refusal
            on_wait()
            try:
                async with asyncio.timeout_at(deadline):
                    await settled.wait()
            except TimeoutError:
                raise reserved_by_others() from None
