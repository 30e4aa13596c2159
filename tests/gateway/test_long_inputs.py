"""Long inputs cost more with some models, so more is reserved if one of these may answer."""

from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.budgets.prices import max_price, price_for_length
from gateway.entries.entry import Budget, Entry, Kind, Price, Provider
from gateway.meters.usage import MILLION, Usage

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

DEAR = Price(5 * MILLION, 9 * MILLION, MILLION)


@pytest.mark.parametrize(
    ("model", "dearer_from"),
    [
        ("gpt-5.4", 272_001),
        ("openai/gpt-5.5-pro-2026-11-22", 272_001),
        ("gpt-5.4-mini", None),
        ("gpt-5.2", None),
        ("google/gemini-3-pro-preview", 200_001),
        ("gemini-2.5-flash", None),
        ("x-ai/grok-4", 128_001),
        ("claude-opus-4-8", None),
    ],
)
def test_a_long_input_costs_more_with_some_models(model: str, dearer_from: int | None) -> None:
    for given in (1, 128_000, 128_001, 200_000, 200_001, 272_000, 272_001, 10**6):
        is_dearer = dearer_from is not None and given >= dearer_from
        price = Price(10 * MILLION, 18 * MILLION, 2 * MILLION) if is_dearer else DEAR
        assert price_for_length(DEAR, ["cheap", model], given) == price


def test_a_long_input_is_reserved_and_counted_at_its_higher_price(tmp_path: Path) -> None:
    entry = Entry("p", prices={"gpt-5.4": Price(MILLION, MILLION, 0)}, budget=Budget(month_money=10**7))

    async def test(ledger: Ledger) -> list[int]:
        counted = []
        for given in (272_000, 272_001):
            reservation = await ledger.reserve(entry, "gpt-5.4", input_tokens=given, min_output=10, max_output=10)
            longer = ledger.extend(reservation, entry, by=5)
            ledger.settle(longer, Usage(given, 15), entry=entry)
            rows = (await ledger.read_since(0))["rows"]
            counted += [reservation.money, longer.money, sum(row["money"] for row in rows)]
        return counted

    once, twice = 272_010, 2 * 272_011
    assert run(tmp_path, Clock(2026, 11, 22), test) == [once, once + 5, once + 5, twice, twice + 10, once + twice + 15]


@pytest.mark.parametrize(
    "model", ["openrouter/auto", "Auto:online", "@preset/mine", "~openai/gpt-latest", "openai/gpt-latest", "x:latest"]
)
def test_an_alias_is_reserved_at_the_lowest_long_input_threshold(tmp_path: Path, model: str) -> None:
    entry = Entry("p", prices={model: DEAR, "google/gemini-3-pro": DEAR}, budget=Budget(month_money=10**8))
    plain, twice = (Price(each, each, each) for each in (MILLION, 2 * MILLION))
    for given, price in ((128_000, plain), (128_001, twice)):
        assert max_price({model: plain}, ["cheap", model], given) == price
    assert max_price({}, [model], 10**6) is None

    async def test(ledger: Ledger) -> list[int]:
        reservation = await ledger.reserve(entry, model, input_tokens=300_000, min_output=1000, max_output=1000)
        ledger.settle(reservation, Usage(300_000, 1000), entry=entry, reported_model="google/gemini-3-pro")
        return [reservation.money, *(row["money"] for row in (await ledger.read_since(0))["rows"] if row["money"])]

    reserved, settled = run(tmp_path, Clock(2026, 11, 22), test)
    assert reserved == settled == 2 * (5 * 300_000 + 9 * 1000)


@pytest.mark.parametrize(("kind", "times"), [(Kind.COMPATIBLE, 2), (Kind.OPENAI, 1)])
def test_any_model_name_on_an_own_server_is_reserved_like_an_alias(tmp_path: Path, kind: Kind, times: int) -> None:
    """A server's operator may call gpt-5.4 `fast`. At OpenAI, the name cannot be an alias."""
    provider = Provider("digest", "key", kind, "https://llm.example.com")
    entry = Entry("p", provider=provider, prices={"fast": DEAR}, budget=Budget(month_money=10**8))

    async def test(ledger: Ledger) -> list[int]:
        reservation = await ledger.reserve(entry, "fast", input_tokens=300_000, min_output=1000, max_output=1000)
        longer = ledger.extend(reservation, entry, by=100)
        ledger.settle(longer, Usage(300_000, 1100), entry=entry, reported_model="gpt-5.4" if times == 2 else "fast")
        return [reservation.money, longer.money, *(row["money"] for row in (await ledger.read_since(0))["rows"])]

    short, long = (times * (5 * 300_000 + 9 * each) for each in (1000, 1100))
    reserved, extended, *rows = run(tmp_path, Clock(2026, 11, 22), test)
    assert (reserved, extended, sum(rows)) == (short, long, long)


@pytest.mark.parametrize(("model", "times"), [("fast", 2), ("acme/fast", 2), ("anthropic/claude-x", 1)])
def test_a_private_alias_at_openrouter_is_reserved_at_the_price_of_its_model(
    tmp_path: Path, model: str, times: int
) -> None:
    provider = Provider("digest", "key", Kind.OPENROUTER, "https://llm.example.com")
    entry = Entry("p", provider=provider, prices={model: DEAR}, budget=Budget(month_money=10**8))
    answers = "google/gemini-3-pro" if times == 2 else model

    async def test(ledger: Ledger) -> list[int]:
        reservation = await ledger.reserve(entry, model, input_tokens=300_000, min_output=1000, max_output=1000)
        ledger.settle(reservation, Usage(300_000, 1000), entry=entry, reported_model=answers)
        return [reservation.money, *(row["money"] for row in (await ledger.read_since(0))["rows"])]

    reserved, *rows = run(tmp_path, Clock(2026, 11, 22), test)
    assert reserved == sum(rows) == times * (5 * 300_000 + 9 * 1000)
