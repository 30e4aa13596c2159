"""Takes over the usage file of the previous process, and notices if its counts are lost or older than they were.

Such counts are a new store. What was spent under the former one comes with the entries, from what the service has read.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from gateway.budgets import rows
from gateway.budgets.disk import READ_WITHIN, Disk
from gateway.budgets.disk_errors import HANGS, DiskError
from gateway.budgets.doubt import Doubt
from gateway.budgets.kept_refusals import KeptRefusals
from gateway.budgets.model_names import ModelNames
from gateway.budgets.openings import StartStore
from gateway.budgets.recent_sizes import RecentSizes
from gateway.budgets.tasks import retrieve
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry
from gateway.periods import hour_of
from gateway.rules.refusals import RefusedError, Why

OPEN_AGAIN_AFTER = 2.0
"""Seconds until it is tried again to open the file."""
OPEN_WITHIN = 10.0
"""Seconds after which the gateway serves what needs no ledger, although its disk has not answered yet."""
REFUSED_UNTIL = "The usage file cannot be written (%s), so calls under a budget are refused until it can."
UNTOLD = "The gateway has lost its counts, and waits until the service tells it what this agent has spent."

logger = logging.getLogger(__name__)


class Stores:
    def __init__(
        self, disk: Disk, totals: Totals, names: ModelNames, sizes: RecentSizes, refusals: KeptRefusals,
        now: Callable[[], float], *, has_entries: bool,
    ) -> None:  # fmt: skip
        """`has_entries` means that the gateway was in use before: a file that is missing was lost."""
        self._disk = disk
        self._totals = totals
        self._names = names
        self._sizes = sizes
        self._refusals = refusals
        self._now = now
        self._has_entries = has_entries
        self.doubt = Doubt(disk, totals)
        self._read_to = "", 0
        """The store and the number up to which the service has read, as far as the disk knows."""
        self._one_at_a_time = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        """What makes a file that was set back another store."""
        self.is_open = False

    @property
    def trouble(self) -> str:
        """Returns what is wrong, as a sentence for staff; empty if all is well."""
        found = self._disk.trouble or ("" if self.is_open else "its usage file is not open yet")
        return (
            f"Calls under a budget are refused, because the gateway cannot write what they cost: {found}."
            if found
            else ""
        )

    async def open(self) -> None:
        """Counts the calls that were in flight when the previous process ended.

        If the disk takes no data or hangs, goes on in the background. Until then, calls under a budget are refused.
        """
        loop, is_tried = asyncio.get_running_loop(), asyncio.Event()

        def note(store: str) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._note_new, store)

        self._disk.on_new_store = note
        self._opening = asyncio.create_task(self._open_at_last(is_tried))
        try:
            async with asyncio.timeout(OPEN_WITHIN):
                await is_tried.wait()
        except TimeoutError:
            logger.error(REFUSED_UNTIL, HANGS)  # noqa: TRY400 - says all that matters
        if self._opening.done():
            await self._opening  # raises what is no fault of the disk

    def _note_new(self, store: str) -> None:
        self._totals.stores.append(store)
        self._sizes.write_again()
        self._refusals.write_again()

    def close(self) -> None:
        for each in (self._opening, self._starting):
            if each is not None:
                each.cancel()

    def check(self, entry: Entry) -> None:
        """Raises RefusedError if it is not known what calls under this budget may cost."""
        if not entry.budget.is_set:
            return
        if not self.is_open:
            raise self.refusal()
        if self.awaits_word(entry):
            raise RefusedError(Why.LATER, UNTOLD, retry_after=5)

    def refusal(self) -> RefusedError:
        words = f"The gateway cannot reserve what this call costs: {self._disk.trouble or 'its disk takes no data'}."
        return RefusedError(Why.LATER, words, retry_after=5)

    def awaits_word(self, entry: Entry) -> bool:
        return self.is_open and self.doubt.awaits_word(entry)

    async def read_since(self, seq: int, store: str) -> dict[str, Any]:
        """Returns the changes after this number of this store (empty: of an unknown one). Raises DiskError."""
        async with self._one_at_a_time:
            answer = await self._read(seq, store)
            if answer[rows.SET_BACK]:
                await self._wait_for_store(seq, store)
                answer = await self._read(0, "")
            elif store == answer["store"] and self.is_open:
                self._note_read(seq, store)
        del answer[rows.SET_BACK]
        return answer

    def _note_read(self, seq: int, store: str) -> None:
        self.doubt.note_known()
        if store != self._read_to[0] or seq > self._read_to[1]:
            self._read_to = store, seq
            self._disk.keep(rows.NoteRead(seq, store))

    async def _read(self, seq: int, store: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._disk.run(rows.ReadSince(seq, store), is_read=True)
        return found

    async def _wait_for_store(self, seq: int, store: str) -> None:
        """Goes on in the background if the disk hangs, or if the service asks no longer. Raises DiskError."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start_store(seq, store))
            self._starting.add_done_callback(retrieve)
        try:
            async with asyncio.timeout(READ_WITHIN):
                await asyncio.shield(self._starting)
        except TimeoutError:
            raise DiskError(HANGS) from None

    async def _start_store(self, seq: int, store: str) -> None:
        """What is spent from now on belongs to the new store. Raises DiskError."""
        if not self.is_open or self._disk.trouble:
            raise DiskError(self._disk.trouble or "its usage file is not open yet")
        logger.error("The usage file is older than the service has read. What was spent comes from the service.")
        was_there = self.doubt.is_there
        self._totals.begin_store()
        self.doubt.begin()
        try:
            found, spent = await self._disk.run(StartStore(seq, store))
        except DiskError:
            self._totals.undo_begin()
            self.doubt.is_there = was_there
            raise
        self._totals.stores.append(found)
        self._spend(spent)

    async def _open_at_last(self, is_tried: asyncio.Event) -> None:
        while True:
            try:
                await self._open()
            except DiskError as error:
                if not is_tried.is_set():
                    logger.error(REFUSED_UNTIL, error)  # noqa: TRY400 - says all that matters
            finally:
                is_tried.set()
            if self.is_open:
                return
            await asyncio.sleep(OPEN_AGAIN_AFTER)

    async def _open(self) -> None:
        """Raises DiskError."""
        hour = hour_of(self._now())
        found: rows.Recovered = await self._disk.run(rows.Recover(self._is_loss, self._disk.usage_file.torn))
        await self._sizes.read(self._disk)
        await self._refusals.read_late()
        self._totals.stores[:] = [found.store]
        self.doubt.is_there = found.is_doubtful
        self._names.remember(found.models, hour)
        self._spend(found.spent)
        self.is_open = True
        self._disk.take_changes()

    def _is_loss(self) -> bool:
        return self._has_entries or self._disk.usage_file.was_damaged

    def _spend(self, spent: list[rows.Spent]) -> None:
        for project, hour, tokens, money in spent:
            self._totals.spend(project, hour, tokens=tokens, money=money)
