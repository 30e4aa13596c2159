"""A money budget also limits OpenRouter models without a price: OpenRouter reports their cost, and refuses models that
cost more than the reservation."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.budgets.prices import OPENROUTER_CEILING, ceiling_for
from gateway.entries.entry import Budget, Entry, Kind, Price, Provider
from gateway.meters.anthropic import read_anthropic_usage
from gateway.meters.usage import MILLION, Usage
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.messages import Answer
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

OPENROUTER = Provider("digest", "key", Kind.OPENROUTER, "https://llm.example.com")
KEPT = {"m": Price(MILLION, 2 * MILLION, MILLION), "dear": Price(90 * MILLION, 9 * MILLION, MILLION)}
HIGHEST = Price(90 * MILLION, 25 * MILLION, 5 * MILLION)
DOLLAR = Entry("p", provider=OPENROUTER, prices=KEPT, budget=Budget(day_money=MILLION))


@pytest.mark.parametrize(
    ("models", "ceiling"),
    [
        (["new"], OPENROUTER_CEILING), (["m", "new"], OPENROUTER_CEILING), (["new", "dear"], HIGHEST),
        (["m"], None), (["openai/m:floor"], None), (["new:free"], None), (["m", "new:free"], None),
        (["openrouter/auto"], HIGHEST),
    ],
)  # fmt: skip
def test_only_a_model_without_a_price_has_a_ceiling(models: list[str], ceiling: Price | None) -> None:
    assert ceiling_for(DOLLAR, models) == ceiling
    in_tokens = Entry("p", provider=OPENROUTER, budget=Budget(day_tokens=5))
    elsewhere = Entry("p", provider=Provider("digest", "key", Kind.COMPATIBLE, "http://a"), budget=DOLLAR.budget)
    assert ceiling_for(in_tokens, models) is ceiling_for(elsewhere, models) is None


def test_calls_at_once_to_a_model_without_a_price_do_not_exceed_the_budget(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> int:
        reserved = 0
        for _ in range(30):
            one = await ledger.reserve(DOLLAR, "new", input_tokens=2_000, min_output=1_000, max_output=1_000)
            reserved += one.money
        return reserved

    with pytest.raises(RefusedError) as refused:
        run(tmp_path, Clock(2026, 11, 22), test)
    assert refused.value.why is Why.RATE


def test_what_openrouter_reports_counts_and_what_it_leaves_out_counts_at_the_ceiling(tmp_path: Path) -> None:
    async def test(ledger: Ledger) -> list[int]:
        counted = []
        for usage in (Usage(1000, 100, money=7), Usage(1000, 100, is_estimated=True), Usage()):
            reservation = await ledger.reserve(DOLLAR, "new", input_tokens=2_000, min_output=100, max_output=100)
            ledger.settle(reservation, usage, entry=DOLLAR)
            counted.append(sum(row["money"] for row in (await ledger.read_since(0))["rows"]))
        return counted

    assert run(tmp_path, Clock(2026, 11, 22), test) == [7, 7 + 7_500, 7 + 7_500]


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_an_openrouter_model_without_a_price_reaches_the_budget(
    alice: Agent, provider: StreamingProvider, path: str
) -> None:
    """Each call costs 40 cents, as OpenRouter reports."""
    alice.gateway.apply(alice.entry(kind="openrouter", budget={"day_money": MILLION}))
    names: Sequence[str] = ("prompt_tokens", "completion_tokens")
    if path != "chat/completions":
        names = ("input_tokens", "output_tokens")
    usage = {**dict.fromkeys(names, 10), "cost": 0.4}
    provider.answer_with = Answer.json(200, {"id": "a", "model": "new", "usage": usage})
    statuses = [alice.chat(model="new", path=path, max_tokens=50).status for _ in range(4)]
    assert statuses[:3] == [200, 200, 200]
    assert statuses[3] in (400, 402, 429)
    assert alice.settled(3)["money"] == 1_200_000


def test_openrouter_is_told_the_most_that_a_model_without_a_price_may_cost(
    alice: Agent, provider: StreamingProvider
) -> None:
    prices = {"m": {"input": MILLION, "output": MILLION}}
    alice.gateway.apply(alice.entry(kind="openrouter", budget={"day_money": 10**9}, prices=prices))
    hosts = {"zdr": True, "max_price": {"prompt": 10**6}}
    most = {"prompt": 5.0, "completion": 25.0, "request": 0}
    for fields, sent in (
        ({"model": "new"}, {"zdr": True, "max_price": most}), ({"model": "m"}, {"zdr": True}),
        ({"model": "m", "models": ["new"]}, {"zdr": True, "max_price": most}),
    ):  # fmt: skip
        assert alice.chat(**fields, provider=hosts).status == 200
        assert provider.sales[-1].body["provider"] == sent


def test_the_cost_in_an_anthropic_answer_of_openrouter_is_read() -> None:
    told = {"input_tokens": 5, "output_tokens": 0, "cost": 0.25}
    first = read_anthropic_usage(told)
    assert first == Usage(5, 0, money=250_000)
    assert read_anthropic_usage({"output_tokens": 9, "cost": 0.5}, first) == Usage(5, 9, money=500_000)
    assert read_anthropic_usage({"output_tokens": 9}, first) == Usage(5, 9, money=250_000)
