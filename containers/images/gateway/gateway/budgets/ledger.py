"""Reserves what a call may cost before it is asked, and settles it after.

Where a project has a budget, the reservation is on the disk before the provider is asked. After the loss of the
process, what was in flight counts in full: never above the budget, and at the most to the owner's disadvantage.
"""

import asyncio
import itertools
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from gateway.budgets import rows
from gateway.budgets.advance import Advances
from gateway.budgets.disk import Disk, Work
from gateway.budgets.messages import Messages
from gateway.budgets.names import Names
from gateway.budgets.prices import by_length, cost_by, most_for, settle_price
from gateway.budgets.refusing import no_longer
from gateway.budgets.rows import Counts, Reservation
from gateway.budgets.sizes import Size, Sizes
from gateway.budgets.totals import Totals
from gateway.budgets.waiting import Waiting, Waits
from gateway.entries.entry import Entry, Price
from gateway.meters.usage import Usage, cost_of
from gateway.periods import hour_of
from gateway.rules.refusals import RefusedError, Why

PATIENCE = 20.0
"""Seconds that a call waits for others to be settled, when they have reserved what it needs."""
AGAIN = 1.0
"""Seconds until what the disk has not taken is given to it again."""

logger = logging.getLogger(__name__)


class Ledger:
    def __init__(self, disk: Disk, now: Callable[[], float], *, patience: float = PATIENCE) -> None:
        self._disk = disk
        self._now = now
        self._totals = Totals()
        self._names = Names()
        self._day = 0
        self._ids = itertools.count(1)
        self._sizes = Sizes(self._write)
        self._waiting = Waiting(self._totals, self._sizes, patience=patience)
        self._advances = Advances(disk, self._totals, self._waiting.wake)
        self.messages = Messages(self._write, now)

    async def open(self) -> None:
        """Counts what was in flight at the end of the process before this one. Raises DiskError."""
        self._day = hour_of(self._now()) // 24
        self._totals.store, models, spent = await self._disk.do(rows.recover(hour_of(self._now())))
        self._names.remember(models, hour_of(self._now()))
        for project, hour, tokens, money in spent:
            self._totals.spend(project, hour, tokens=tokens, money=money)
        await self._sizes.read(self._disk)

    def change(self, project: str, entry: Entry | None) -> None:
        """Has calls that wait look for room in the budget as it is now. None: the project is void."""
        self._waiting.change(project, entry)

    async def reserve(
        self, entry: Entry, model: str, *, given: int, least: int, most: int, others: Sequence[str] = (),
        is_cached: bool = False, waits: Waits = lambda: None,
    ) -> Reservation:  # fmt: skip
        """Reserves for an input of `given` tokens, and an answer of at least `least` and at most `most` of them.

        `others` are models that may answer in the place of the first one: the dearest counts. `is_cached`: some of the
        input may be dearer than its price, as it is kept. `waits` is called before it waits for others.

        Raises RefusedError where the budget has no room, or the disk does not take it.
        """
        hour = hour_of(self._now())

        def price_by(entry: Entry) -> Price | None:
            return most_for(entry, (model, *others), given, is_cached=is_cached)

        entry, price, output = await self._waiting.find_room(
            entry, price_by, hour, self._advances, waits, given=given, least=least, most=most
        )
        money = cost_of(Usage(given, output), price)
        reservation = Reservation(next(self._ids), entry.project, hour, model, given, output, money)
        self._totals.reserve(entry.project, hour, tokens=reservation.tokens, money=money)
        if not entry.budget.is_set:
            self._disk.begin(rows.insert(reservation))
            return reservation
        if not self._advances.draw(reservation):
            await self._be_sure(self._disk.begin(rows.insert(reservation)), reservation)
        self._advances.grow(reservation, entry, second=int(self._now()))
        return reservation

    def extend(self, reservation: Reservation, entry: Entry, *, by: int, others: Sequence[str] = ()) -> Reservation:
        """For an answer that is longer than was asked for: up to `by` tokens more. The disk has it soon after, as the
        tokens are written already. Raises RefusedError where nothing is left."""
        entry = self._waiting.latest(entry)
        price = most_for(entry, (reservation.model, *others), reservation.input)
        self._advances.take_back(entry.project)
        room = self._totals.room(entry, reservation.hour, price=price, given=0, with_reserved=True)
        tokens = min([by, *(each for each in room.values() if each is not None)])
        if tokens <= 0:
            size = Size(reservation.tokens, reservation.money)
            raise no_longer(self._totals, entry, reservation.hour, price=price, size=size)
        money = cost_of(Usage(0, tokens), price)
        self._totals.reserve(reservation.project, reservation.hour, tokens=tokens, money=money)
        self._write(rows.extend(reservation, tokens=tokens, money=money))
        return replace(reservation, output=reservation.output + tokens, money=reservation.money + money)

    def settle(
        self, reservation: Reservation, usage: Usage, *, entry: Entry, is_error: bool = False,
        others: Sequence[str] = (), named: str = "",
    ) -> None:  # fmt: skip
        """Counts what a call has cost, in place of what was reserved for it. `named`: the model that has answered."""
        answered_by, price = settle_price(entry.prices, (reservation.model, *others), named)
        money = cost_by(by_length(price, (answered_by, named), usage.input), usage)
        self._give_back(reservation)
        self._totals.spend(reservation.project, reservation.hour, tokens=usage.tokens, money=money)
        counts = Counts(
            requests=1,
            errors=int(is_error),
            estimated=int(usage.is_estimated),
            input=usage.input,
            output=usage.output,
            cached=usage.cached,
            money=money,
        )
        is_real = bool(usage.tokens or not is_error)
        model = self._names.name(reservation.project, answered_by, reservation.hour, is_real=is_real)
        self._write(rows.settle(reservation, counts, model=model))
        self._forget_old()

    def close(self) -> None:
        """Hands in all that the disk must still have when the process ends."""
        self.messages.flush()
        self._advances.take_all_back()

    async def read_since(self, seq: int) -> dict[str, Any]:
        """Raises DiskError."""
        self.messages.flush()
        answer: dict[str, Any] = await self._disk.do(rows.read_since(seq))
        return answer

    def _forget_old(self) -> None:
        """Once a day."""
        hour = hour_of(self._now())
        if hour // 24 > self._day:
            self._day = hour // 24
            self._write(rows.forget(hour))

    async def _be_sure(self, written: Future[Any], reservation: Reservation) -> None:
        try:
            await asyncio.shield(asyncio.wrap_future(written))
        except Exception:  # noqa: BLE001 - whatever it is, the call is not covered
            self._give_back(reservation)
            raise RefusedError(Why.LATER, "The gateway's disk takes no data.", retry_after=5) from None
        except asyncio.CancelledError:
            self._give_back(reservation)
            self._write(rows.settle(reservation, Counts(), model=""))
            raise

    def _give_back(self, reservation: Reservation) -> None:
        self._totals.reserve(
            reservation.project, reservation.hour, tokens=-reservation.tokens, money=-reservation.money
        )
        self._waiting.wake(reservation.project)

    def _write(self, work: Work) -> None:
        """Hands the work to the disk until it takes it. Nobody waits.

        What fails for another reason than the disk would fail again: the reservation stays, and counts in full.
        """
        loop = asyncio.get_running_loop()

        def again(done: Future[Any]) -> None:
            if isinstance(done.exception(), sqlite3.OperationalError) and not loop.is_closed():
                loop.call_soon_threadsafe(loop.call_later, AGAIN, self._write, work)

        self._disk.begin(work).add_done_callback(again)
