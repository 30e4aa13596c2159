"""A call that exceeds the whole budget or the rest of it is too large. The budget is not reached, and other calls
continue."""

from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.usage import MILLION, Usage
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

WORDS = {
    (Why.TOO_LARGE, True): "more than the whole budget of this agent for a (day|month). Send less at a time",
    (Why.TOO_LARGE, False): "more than what is left of the budget of this agent for a (day|month), which resets on",
    (Why.QUOTA, False): "The budget of this agent is reached; it resets on",
}
DAY, MONTH = {"day_tokens": 1000}, {"day_tokens": 1000, "month_tokens": 1200}


@pytest.mark.parametrize(
    ("budget", "spent", "given", "why", "period"),
    [
        (DAY, 0, 1001, Why.TOO_LARGE, "day"),
        (DAY, 0, 990, Why.TOO_LARGE, "day"),  # no answer would fit after it
        (DAY, 600, 1001, Why.TOO_LARGE, "day"),
        (DAY, 600, 500, Why.TOO_LARGE, "day"),  # a smaller one would fit
        (DAY, 949, 50, Why.TOO_LARGE, "day"),
        (DAY, 950, 50, Why.QUOTA, "day"),
        (DAY, 1000, 1, Why.QUOTA, "day"),
        (MONTH, 1000, 10, Why.QUOTA, "day"),
        (MONTH, 1000, 500, Why.QUOTA, "day"),
        (MONTH | {"month_tokens": 1000}, 1000, 500, Why.QUOTA, "month"),  # both, and the longer one ends later
        (MONTH, 800, 500, Why.TOO_LARGE, "month"),
        ({"day_tokens": 10_000, "month_tokens": 1000}, 990, 500, Why.QUOTA, "month"),
        ({"month_tokens": 1000}, 0, 2000, Why.TOO_LARGE, "month"),
        ({"day_tokens": 0}, 0, 1, Why.QUOTA, "day"),
        ({"day_money": 1000}, 0, 1001, Why.TOO_LARGE, "day"),
        ({"day_money": 1000}, 600, 500, Why.TOO_LARGE, "day"),
        ({"day_money": 1000}, 960, 50, Why.QUOTA, "day"),
        ({"day_money": 0}, 0, 1, Why.QUOTA, "day"),
    ],
)
def test_only_a_budget_that_is_spent_is_reached(
    tmp_path: Path, budget: dict[str, int], spent: int, given: int, why: Why, period: str
) -> None:
    one = Entry("p", budget=Budget(**budget), prices={"m": Price(MILLION, MILLION, 0)})

    async def test(ledger: Ledger) -> None:
        if spent:
            reservation = await ledger.reserve(one, "m", input_tokens=0, min_output=1, max_output=spent)
            ledger.settle(reservation, Usage(0, spent), entry=one)
        with pytest.raises(RefusedError, match=WORDS[why, given > 900]) as refused:
            await ledger.reserve(one, "m", input_tokens=given, min_output=16, max_output=4096)
        assert refused.value.why is why
        assert refused.value.headers["X-Berth-Budget"] == period
        assert ("X-Berth-Resets" in refused.value.headers) == ("resets" in refused.value.words)

    run(tmp_path, Clock(2026, 11, 22), test)


@pytest.mark.parametrize(
    ("name", "more", "why", "is_started_anew"),
    [
        ("day_tokens", 0, Why.QUOTA, False),
        ("day_tokens", -30, Why.QUOTA, False),
        ("day_tokens", 20, Why.QUOTA, True),
        ("day_tokens", 50, Why.TOO_LARGE, True),
        ("month_tokens", 0, Why.QUOTA, True),
        ("month_tokens", 50, Why.TOO_LARGE, False),
        ("day_money", 0, Why.QUOTA, True),
        ("day_money", 50, Why.TOO_LARGE, False),
    ],
)
def test_a_budget_is_reached_if_calls_as_large_as_before_do_not_fit(
    tmp_path: Path, name: str, more: int, why: Why, is_started_anew: bool
) -> None:
    """Each call reserves 132 tokens and uses 48. Nearly 90% is spent when the next one has no room."""
    one = Entry("p", budget=Budget(**{name: 1000}), prices={"m": Price(MILLION, MILLION, 0)})

    async def ask(ledger: Ledger, given: int = 116) -> None:
        ledger.settle(
            await ledger.reserve(one, "m", input_tokens=given, min_output=16, max_output=16), Usage(32, 16), entry=one
        )

    async def spend(ledger: Ledger) -> None:
        for _ in range(19):
            await ask(ledger)

    async def look(ledger: Ledger) -> None:
        with pytest.raises(RefusedError) as refused:
            await ask(ledger, 116 + more)
        assert refused.value.why is why

    async def both(ledger: Ledger) -> None:
        await spend(ledger)
        await look(ledger)

    for step in [spend, look] if is_started_anew else [both]:
        run(tmp_path, Clock(2026, 11, 22), step)


def test_large_calls_of_another_day_do_not_count(tmp_path: Path) -> None:
    one, clock = Entry("p", budget=Budget(day_tokens=1000)), Clock(2026, 11, 22)

    async def test(ledger: Ledger) -> None:
        ledger.settle(
            await ledger.reserve(one, "m", input_tokens=600, min_output=16, max_output=16), Usage(600, 16), entry=one
        )
        clock.now = clock.now.replace(day=23)
        ledger.settle(
            await ledger.reserve(one, "m", input_tokens=0, min_output=16, max_output=500), Usage(0, 500), entry=one
        )
        with pytest.raises(RefusedError, match="more than what is left"):
            await ledger.reserve(one, "m", input_tokens=600, min_output=16, max_output=16)

    run(tmp_path, clock, test)


def test_one_large_old_call_does_not_count_against_recent_ones(tmp_path: Path) -> None:
    one = Entry("p", budget=Budget(month_tokens=100_000))

    async def ask(ledger: Ledger, given: int) -> None:
        ledger.settle(
            await ledger.reserve(one, "m", input_tokens=given, min_output=16, max_output=16),
            Usage(given, 16),
            entry=one,
        )

    async def test(ledger: Ledger) -> None:
        await ask(ledger, 30_000)
        for _ in range(20):
            await ask(ledger, 2000)
        with pytest.raises(RefusedError, match="more than what is left"):
            await ask(ledger, 30_000)
        await ask(ledger, 2000)

    run(tmp_path, Clock(2026, 11, 22), test)
