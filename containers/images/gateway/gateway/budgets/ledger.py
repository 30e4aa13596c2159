"""Reserves the most that a call may cost before it is sent, and settles the actual cost afterwards.

If a project has a budget, the reservation is on disk before the provider is asked. If the process is killed, calls in
flight count in full: spending never exceeds the budget, and any error is at the owner's expense.
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from gateway.budgets.advance import Advances
from gateway.budgets.budget_refusals import refusal_to_extend
from gateway.budgets.changes import Counts, Extend, Insert, Reservation, Settle, settle
from gateway.budgets.disk import Disk
from gateway.budgets.kept_refusals import KeptRefusals
from gateway.budgets.message_counter import MessageCounter
from gateway.budgets.model_names import ModelNames
from gateway.budgets.old_rows import OldRows
from gateway.budgets.prices import cost_to_settle, dearest_price, max_price_for
from gateway.budgets.recent_sizes import RecentSizes, Size
from gateway.budgets.stores import Stores
from gateway.budgets.tasks import retrieve
from gateway.budgets.totals import Totals
from gateway.budgets.waiting_calls import OnWait, WaitingCalls
from gateway.entries.entry import Entry, Price
from gateway.meters.usage import Usage, cost_of
from gateway.periods import hour_of

PATIENCE = 20.0
"""Seconds that a call waits for other calls to be settled if they have reserved the amount it needs."""

DISK_WITHIN = 10.0
"""Seconds that a call waits for the disk. A healthy one needs a few hundredths."""


class Ledger:
    def __init__(
        self, disk: Disk, now: Callable[[], float], *, patience: float = PATIENCE, has_entries: bool = False
    ) -> None:
        """`has_entries` means that the gateway was in use before: a usage file that is missing was lost."""
        self._disk = disk
        self._now = now
        self._totals = Totals()
        self._names = ModelNames()
        self._ids = itertools.count(1)
        self._begun: dict[int, Entry] = {}
        """The entries by whose prices the calls in flight have reserved, by number of reservation."""
        self._write = disk.keep
        self._sizes = RecentSizes(self._write)
        self._waiting = WaitingCalls(self._totals, self._sizes, patience=patience)
        self._advances = Advances(disk, self._totals, self._waiting.wake)
        self.refusals = KeptRefusals(disk, self._write)
        self.stores = Stores(
            disk, self._totals, self._names, self._sizes, self.refusals, now, has_entries=has_entries
        )  # fmt: skip
        self.messages = MessageCounter(self._write, now)
        self._old_rows = OldRows(self._write, now)

    async def open(self) -> None:
        """Counts the calls that were in flight when the previous process ended.

        If the disk takes no data, tries again in the background. Until then, calls under a budget are refused.
        """
        await self.stores.open()

    def change(self, project: str, entry: Entry | None) -> None:
        """Makes waiting calls look for room in the new budget. None means that the project is void."""
        self._waiting.change(project, entry)

    async def reserve(
        self, entry: Entry, model: str, *, input_tokens: int, min_output: int, max_output: int,
        fallbacks: Sequence[str] = (), is_cached: bool = False, on_wait: OnWait = lambda: None,
    ) -> Reservation:  # fmt: skip
        """Reserves `input_tokens` for the input and `min_output` to `max_output` tokens for the answer.

        `fallbacks` are models that may answer instead of the first one; the most expensive counts. `is_cached` means
        that the provider may write input to a cache, which costs more than its price. Calls `on_wait` before it waits
        for other calls. Raises RefusedError if the budget has no room or the reservation cannot be written.
        """
        hour = hour_of(self._now())
        self.stores.check(self._waiting.latest(entry))

        def find_price(entry: Entry) -> Price | None:
            return max_price_for(entry, (model, *fallbacks), input_tokens, is_cached=is_cached)

        entry, price, output = await self._waiting.find_room(
            entry, find_price, hour, self._advances, on_wait,
            input_tokens=input_tokens, min_output=min_output, max_output=max_output,
        )  # fmt: skip
        self.stores.check(entry)
        money = cost_of(Usage(input_tokens, output), price)
        reservation = Reservation(self._next_id(entry), entry.project, hour, model, input_tokens, output, money)
        self._totals.reserve(entry.project, hour, tokens=reservation.tokens, money=money)
        await self._write_reservation(reservation, entry)
        if reservation.id:
            self._begun[reservation.id] = entry
        return reservation

    def extend(self, reservation: Reservation, entry: Entry, *, by: int, fallbacks: Sequence[str] = ()) -> Reservation:
        """Reserves up to `by` more tokens for an answer that exceeds the requested length.

        Does not wait for the disk, because the model has already written the tokens. Raises RefusedError if the budget
        has nothing left, or if the disk fails, so that no process would know of them after a kill.
        """
        begun, entry = self._begun.get(reservation.id, entry), self._waiting.latest(entry)
        if entry.budget.is_set and self._disk.trouble:
            raise self.stores.refusal()
        # The call is charged by the prices with which it began.
        price = dearest_price((begun, entry), (reservation.model, *fallbacks), reservation.input)
        self._advances.release(entry.project)
        room = self._totals.room(entry, reservation.hour, price=price, input_tokens=0, with_reserved=True)
        tokens = min([by, *(each for each in room.values() if each is not None)])
        if tokens <= 0:
            size = Size(reservation.tokens, reservation.money)
            raise refusal_to_extend(self._totals, entry, reservation.hour, price=price, size=size)
        money = cost_of(Usage(0, tokens), price)
        self._totals.reserve(reservation.project, reservation.hour, tokens=tokens, money=money)
        extended = replace(reservation, output=reservation.output + tokens, money=reservation.money + money)
        self._write(Extend(extended))
        return extended

    def settle(
        self, reservation: Reservation, usage: Usage, *, entry: Entry, is_error: bool = False,
        fallbacks: Sequence[str] = (), reported_model: str = "",
    ) -> None:  # fmt: skip
        """Replaces a reservation by the actual cost. `reported_model` is the model that answered, if it is known.

        The call is charged by the prices with which it was reserved, even if `entry` is an older or a newer one.
        """
        entry = self._begun.pop(reservation.id, entry)
        answered_by, money = cost_to_settle(entry, (reservation.model, *fallbacks), reported_model, usage)
        self._release(reservation)
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
        is_covered = usage.tokens <= reservation.tokens and money <= reservation.money
        self._disk.keep(settle(reservation, counts, model=model), can_wait=is_covered)
        self._old_rows.forget()

    def close(self) -> None:
        """Submits all that must still be written before the process ends."""
        self.stores.close()
        self.messages.flush()
        self._advances.release_all()

    async def read_since(self, seq: int, store: str = "") -> dict[str, Any]:
        """Raises DiskError."""
        self.messages.flush()
        return await self.stores.read_since(seq, store)

    async def _write_reservation(self, reservation: Reservation, entry: Entry) -> None:
        """Waits until the disk covers it, unless the project has no budget. Raises RefusedError."""
        if entry.budget.is_set:
            if not self._advances.draw(reservation):
                await self._wait_for_disk(self._disk.submit(Insert(reservation)), reservation)
            self._advances.grow(reservation, entry, second=int(self._now()))
        elif reservation.id:
            self._disk.keep(Insert(reservation), can_wait=True)

    async def _wait_for_disk(self, written: Future[Any], reservation: Reservation) -> None:
        waiting = asyncio.wrap_future(written)
        waiting.add_done_callback(retrieve)
        try:
            async with asyncio.timeout(DISK_WITHIN):
                await waiting
        except (TimeoutError, asyncio.CancelledError) as error:
            self._release(reservation)
            self._write(Settle((reservation.id,)))
            if isinstance(error, TimeoutError):
                raise self.stores.refusal() from None
            raise
        except Exception:  # noqa: BLE001 - the call is not covered, no matter why
            self._release(reservation)
            raise self.stores.refusal() from None

    def _next_id(self, entry: Entry) -> int:
        """Returns the number for a reservation, or 0 if it is not worth a try to write it."""
        is_wanted = entry.budget.is_set or (self.stores.is_open and not self._disk.trouble)
        return next(self._ids) if is_wanted else 0

    def _release(self, reservation: Reservation) -> None:
        self._totals.reserve(
            reservation.project, reservation.hour, tokens=-reservation.tokens, money=-reservation.money
        )
        self._waiting.wake(reservation.project)
