"""A call's reservation and cost count on the day of its request."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.periods import Period, end_of, hour_of, name_of
from gateway.rules.refusals import RefusedError, Why

pytestmark = pytest.mark.one_database


def moment_of(parts: tuple[int, ...]) -> datetime:
    """Returns the moment of a year, month, day and, optionally, time of day."""
    return datetime(*parts[:6]).replace(tzinfo=UTC)  # type: ignore[arg-type]  # noqa: DTZ001 - mypy takes the last part for the zone


class Clock:
    def __init__(self, *moment: int) -> None:
        self.now = moment_of(moment)

    def __call__(self) -> float:
        return self.now.timestamp()


def run(folder: Path, clock: Clock, test: Callable[[Ledger], Awaitable[Any]]) -> Any:
    """Runs the test with an open ledger."""

    async def opened() -> Any:
        disk = Disk(folder / "usage.sqlite3")
        try:
            ledger = Ledger(disk, clock, patience=0.05)
            await ledger.open()
            return await test(ledger)
        finally:
            await asyncio.to_thread(disk.close)

    return asyncio.run(opened())


def entry(**budget: int) -> Entry:
    return Entry("p", budget=Budget(**budget))


async def spend(ledger: Ledger, tokens: int, **budget: int) -> None:
    one = entry(**budget)
    reservation = await ledger.reserve(one, "m", input_tokens=0, min_output=tokens, max_output=tokens)
    ledger.settle(reservation, Usage(0, tokens), entry=one)


@pytest.mark.parametrize(
    ("before", "after", "budget"),
    [
        ((2026, 11, 22, 23, 59, 59), (2026, 11, 23), {"day_tokens": 100}),
        ((2026, 11, 30, 23, 59, 59), (2026, 12, 1), {"month_tokens": 100}),
        ((2026, 12, 31, 23, 59, 59), (2027, 1, 1), {"month_tokens": 100, "day_tokens": 100}),
        ((2028, 2, 29, 23, 59, 59), (2028, 3, 1), {"month_tokens": 100}),
    ],
)
def test_a_budget_restarts_with_its_day_or_month(
    tmp_path: Path, before: tuple[int, ...], after: tuple[int, ...], budget: dict[str, int]
) -> None:
    clock = Clock(*before)

    async def test(ledger: Ledger) -> None:
        await spend(ledger, 100, **budget)
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 1, **budget)
        assert refused.value.why is Why.QUOTA
        resets = moment_of(after)
        assert f"it resets on {resets.day} {resets:%B}." in refused.value.words
        clock.now = resets
        await spend(ledger, 100, **budget)

    run(tmp_path, clock, test)


def test_a_call_over_midnight_counts_on_the_day_of_its_request(tmp_path: Path) -> None:
    clock = Clock(2026, 11, 22, 23, 59, 59)

    async def test(ledger: Ledger) -> dict[str, Any]:
        one = entry(day_tokens=100)
        reservation = await ledger.reserve(one, "m", input_tokens=0, min_output=1, max_output=100)
        clock.now = datetime(2026, 11, 23, tzinfo=UTC)
        ledger.settle(reservation, Usage(0, 90), entry=one)
        await spend(ledger, 100, day_tokens=100)
        return await ledger.read_since(0)

    rows = run(tmp_path, clock, test)["rows"]
    assert {name_of(Period.DAY, row["hour"]): row["output"] for row in rows} == {"2026-11-22": 90, "2026-11-23": 100}


def test_a_month_counts_over_its_days(tmp_path: Path) -> None:
    clock = Clock(2026, 11, 1)

    async def test(ledger: Ledger) -> None:
        for day in (1, 2, 3):
            clock.now = clock.now.replace(day=day)
            await spend(ledger, 30, day_tokens=50, month_tokens=100)
        with pytest.raises(RefusedError, match="resets on 1 December"):
            await spend(ledger, 11, day_tokens=50, month_tokens=100)

    run(tmp_path, clock, test)


def test_the_spending_of_any_hour_is_restored_for_its_day_and_month(tmp_path: Path) -> None:
    clock, hours = Clock(2026, 11, 29), [0, 1, 23, 24, 47, 48, 50, 71, 72]

    def totals(ledger: Ledger) -> list[int]:
        begin = hour_of(moment_of((2026, 11, 29)).timestamp())
        return [ledger._totals.of("p", period, begin + hour).tokens for hour in hours for period in Period]

    async def spend_all(ledger: Ledger) -> list[int]:
        begin = clock.now
        for number, hour in enumerate(hours):
            clock.now = begin + timedelta(hours=hour)
            await spend(ledger, 1 << number)
        return totals(ledger)

    async def look(ledger: Ledger) -> list[int]:
        return totals(ledger)

    before = run(tmp_path, clock, spend_all)
    assert len(set(before)) > 4
    assert run(tmp_path, clock, look) == before


def test_reservations_lost_with_the_process_count_in_full(tmp_path: Path) -> None:
    clock = Clock(2026, 11, 22)

    async def lose(ledger: Ledger) -> None:
        await ledger.reserve(entry(day_tokens=100), "m", input_tokens=20, min_output=1, max_output=50)

    async def look(ledger: Ledger) -> dict[str, Any]:
        with pytest.raises(RefusedError):
            await spend(ledger, 31, day_tokens=100)
        await spend(ledger, 30, day_tokens=100)
        return await ledger.read_since(0)

    run(tmp_path, clock, lose)
    (row,) = run(tmp_path, clock, look)["rows"]
    assert (row["input"], row["output"], row["requests"], row["estimated"]) == (20, 80, 2, 1)


def test_a_call_waits_until_the_reservations_before_it_are_settled(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        one = entry(day_tokens=100)
        first = await ledger.reserve(one, "m", input_tokens=0, min_output=1, max_output=100)
        with pytest.raises(RefusedError) as refused:
            await ledger.reserve(one, "m", input_tokens=0, min_output=1, max_output=10)
        assert refused.value.why is Why.RATE
        second = asyncio.ensure_future(ledger.reserve(one, "m", input_tokens=0, min_output=1, max_output=200))
        await asyncio.sleep(0)
        ledger.settle(first, Usage(0, 30), entry=one)
        assert (await second).output == 70

    run(tmp_path, Clock(2026, 11, 22), test)


def test_the_disk_has_the_reservation_before_the_provider_is_asked(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        await ledger._disk.run(lambda connection: connection.execute("PRAGMA query_only = ON"), is_read=True)
        with pytest.raises(RefusedError) as refused:
            await ledger.reserve(entry(day_tokens=100), "m", input_tokens=0, min_output=1, max_output=10)
        assert refused.value.why is Why.LATER
        await spend(ledger, 100, day_tokens=100)

    run(tmp_path, Clock(2026, 11, 22), test)


def test_usage_is_read_in_order_of_change_and_reading_twice_is_harmless(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> None:
        await spend(ledger, 5)
        first = await ledger.read_since(0)
        assert (first["seq"], first["more"]) == (1, False)
        assert (await ledger.read_since(first["seq"]))["rows"] == []
        await spend(ledger, 6)
        again = await ledger.read_since(first["seq"])
        assert [row["output"] for row in again["rows"]] == [11]
        assert again["store"] == first["store"]

    run(tmp_path, Clock(2026, 11, 22), test)


def test_periods_end_when_the_next_ones_begin() -> None:
    for year in (2026, 2027, 2028):
        for month in range(1, 13):
            for day in (1, 28):
                hour = hour_of(datetime(year, month, day, 23, tzinfo=UTC).timestamp())
                for period in Period:
                    end = hour_of(end_of(period, hour).timestamp())
                    assert name_of(period, end - 1) == name_of(period, hour) != name_of(period, end)
