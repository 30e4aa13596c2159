"""With advances, calls with large budgets need not wait for the disk, and still no budget is overspent."""

import asyncio
import random
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from gateway.budgets.advance import Advance
from gateway.budgets.changes import Reservation
from gateway.budgets.ledger import Ledger
from gateway.budgets.totals import Total
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.usage import Usage
from gateway.periods import Period, hour_of
from gateway.rules.refusals import RefusedError

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

LARGE = Entry("p", budget=Budget(day_tokens=1000))
MUCH = Entry("p", budget=Budget(day_tokens=10**6))


async def have_grown(ledger: Ledger) -> None:
    """Returns when all submitted work is on disk, and the ledger knows it."""
    await ledger.read_since(0)
    await asyncio.sleep(0)


async def call(ledger: Ledger, entry: Entry, given: int, written: int) -> None:
    reservation = await ledger.reserve(entry, "m", input_tokens=given, min_output=1, max_output=written)
    ledger.settle(reservation, Usage(given, reservation.output), entry=entry)


def test_the_second_call_of_a_large_budget_does_not_wait(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        await call(ledger, LARGE, 2, 3)
        await have_grown(ledger)
        # The disk is busy and writes nothing meanwhile, so only an advance can cover the call.
        ledger._disk.submit(lambda connection: busy.wait(60))
        try:
            await asyncio.wait_for(call(ledger, LARGE, 2, 3), 30)
        finally:
            busy.set()

    busy = threading.Event()
    run(tmp_path, Clock(2026, 11, 22), test)


def test_calls_of_one_second_do_not_wait_for_a_busy_disk(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        for _ in range(10):
            await call(ledger, MUCH, 2, 3)
            await have_grown(ledger)
        ledger._disk.submit(lambda connection: busy.wait(60))
        try:
            for _ in range(5):
                await asyncio.wait_for(call(ledger, MUCH, 2, 3), 30)
        finally:
            busy.set()

    busy = threading.Event()
    run(tmp_path, Clock(2026, 11, 22), test)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([1] * 5, 5), ([1] * 5 + [2], 5), ([1] * 5 + [2] * 7, 7), ([1] * 5 + [3], 2), ([1] * 5 + [2, 3], 2), ([9], 2)],
)
def test_an_advance_covers_the_calls_of_one_second(seconds: list[int], expected: int) -> None:
    advance = Advance(hour=1)
    assert [advance.count(second) for second in seconds][-1] == expected


def test_the_whole_budget_can_be_spent(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        for _ in range(200):
            await call(ledger, LARGE, 2, 3)
        with pytest.raises(RefusedError):
            await call(ledger, LARGE, 0, 1)

    run(tmp_path, Clock(2026, 11, 22), test)


def test_an_advance_counts_after_the_loss_of_the_process_and_not_after_a_stop(tmp_path: Path) -> None:
    async def lose(ledger: Ledger) -> None:
        await call(ledger, LARGE, 2, 3)
        await have_grown(ledger)

    async def stop(ledger: Ledger) -> None:
        await lose(ledger)
        ledger.close()

    async def stop_at_once(ledger: Ledger) -> None:
        await call(ledger, LARGE, 2, 3)
        ledger.close()

    async def look(ledger: Ledger) -> int:
        rows = (await ledger.read_since(0))["rows"]
        return sum(row["input"] + row["output"] for row in rows)

    run(tmp_path / "one", Clock(2026, 11, 22), stop_at_once)
    assert run(tmp_path / "one", Clock(2026, 11, 22), look) == 5, "The advance was on its way to the disk."
    run(tmp_path, Clock(2026, 11, 22), stop)
    assert run(tmp_path, Clock(2026, 11, 22), look) == 5
    run(tmp_path, Clock(2026, 11, 22), lose)
    assert run(tmp_path, Clock(2026, 11, 22), look) == 10 + 10


def check(total: Total) -> None:
    assert total.tokens + total.reserved_tokens <= 3000
    assert total.money + total.reserved_money <= 9000
    assert min(total.reserved_tokens, total.reserved_money) >= 0


@pytest.mark.parametrize("seed", range(6))
def test_limits_hold_and_nothing_stays_reserved_in_any_order_of_events(tmp_path: Path, seed: int) -> None:
    """Begins and ends calls in random order across the end of an hour. The totals must never exceed the budget."""
    chance, clock = random.Random(seed), Clock(2026, 11, 22, 10)
    entry = Entry(
        "p",
        budget=Budget(day_tokens=3000, day_money=9000),
        prices={"m": Price(input=10**6, output=2 * 10**6, cached=0)},
    )

    async def test(ledger: Ledger) -> None:
        under_way: list[Reservation] = []
        for step in range(300):
            if step == 150:
                clock.now = clock.now.replace(hour=11)
            if under_way and chance.random() < 0.5:
                reservation = under_way.pop(chance.randrange(len(under_way)))
                ledger.settle(reservation, Usage(reservation.input, chance.randint(0, reservation.output)), entry=entry)
            elif len(under_way) < 8:
                with suppress(RefusedError):
                    most = chance.randint(1, 20)
                    under_way.append(
                        await ledger.reserve(
                            entry, "m", input_tokens=chance.randint(0, 9), min_output=1, max_output=most
                        )
                    )
            check(ledger._totals.of("p", Period.DAY, hour_of(clock())))
        for reservation in under_way:
            ledger.settle(reservation, Usage(), entry=entry)
        await have_grown(ledger)
        ledger.close()
        total = ledger._totals.of("p", Period.DAY, hour_of(clock()))
        assert (total.reserved_tokens, total.reserved_money) == (0, 0)

    async def look(ledger: Ledger) -> int:
        return sum(row["estimated"] for row in (await ledger.read_since(0))["rows"])

    run(tmp_path, clock, test)
    assert run(tmp_path, clock, look) == 0
