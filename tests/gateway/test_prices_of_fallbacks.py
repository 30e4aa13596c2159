"""A call with several models reserves the price of the most expensive one, and is charged as the one that answered."""

from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.ledger import Ledger
from gateway.budgets.prices import final_cost, highest_price, price_of, settle_price
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.anthropic import read_anthropic_usage
from gateway.meters.document_meter import DocumentMeter
from gateway.meters.events import read_model
from gateway.meters.openai import read_openai_usage
from gateway.meters.usage import MILLION, Usage
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

CHEAP, DEAR, ODD = Price(MILLION, MILLION, 0), Price(5 * MILLION, 9 * MILLION, MILLION), Price(7 * MILLION, 0, 0)
PRICES = {"cheap": CHEAP, "dear": DEAR, "odd": ODD, "cheap-mini": ODD}


@pytest.mark.parametrize(
    ("models", "price"),
    [
        (["cheap"], CHEAP),
        (["cheap", "dear"], DEAR),
        (["dear", "cheap"], DEAR),
        (["dear", "odd"], Price(7 * MILLION, 9 * MILLION, MILLION)),
        (["free", "cheap"], CHEAP),
        (["free"], None),
        (["dear-2026-11-22"], DEAR),
        (["dear-20261122", "cheap-2026-11-22:floor"], DEAR),
        (["dear-2026"], None),
    ],
)
def test_the_most_expensive_model_is_reserved(models: list[str], price: Price | None) -> None:
    assert highest_price(PRICES, models) == price


@pytest.mark.parametrize(
    ("models", "named", "found"),
    [
        (["cheap", "dear"], "dear", ("dear", DEAR)),
        (["cheap", "dear"], "cheap", ("cheap", CHEAP)),
        (["cheap", "dear"], "cheap-2026-11-22", ("cheap", CHEAP)),
        (["cheap", "cheap-mini"], "cheap-mini-2026", ("cheap-mini", ODD)),
        (["cheap", "dear"], "", ("cheap", DEAR)),
        (["cheap", "dear"], "something else", ("cheap", DEAR)),
        (["cheap", "free"], "free", ("free", None)),
        (["cheap"], "dear", ("cheap", CHEAP)),
        (["free"], "dear", ("free", DEAR)),
        (["free"], "", ("free", None)),
        (["dear-2026-11-22"], "dear-2026-11-22", ("dear-2026-11-22", DEAR)),
        (["dear-2026-11-22", "cheap"], "dear-2026-11-22", ("dear-2026-11-22", DEAR)),
        (["free"], "dear-20261122", ("free", DEAR)),
    ],
)
def test_the_model_named_in_the_answer_is_settled(
    models: list[str], named: str, found: tuple[str, Price | None]
) -> None:
    assert settle_price(PRICES, models, named) == found


@pytest.mark.parametrize("document", [{"model": "m"}, {"response": {"model": "m"}}, {"message": {"model": "m"}}])
def test_the_model_is_read_from_each_kind_of_answer(document: dict[str, Any]) -> None:
    assert read_model(document) == "m"
    others: tuple[dict[str, Any], ...] = ({}, {"model": 5}, {"model": None, "response": [], "message": "m"})
    assert [read_model(other) for other in others] == ["", "", ""]


@pytest.mark.parametrize("read", [read_openai_usage, read_anthropic_usage])
def test_an_answer_that_is_no_object_names_no_model(read: Any) -> None:
    for body in (b"[]", b"nothing", b'{"model":5}', b'"model"'):
        meter = DocumentMeter(read)
        meter.feed(body)
        meter.finish()
        assert meter.model == ""


KEPT = {"openai/gpt-5": CHEAP, "claude-x": DEAR, "Llama": ODD, "openai/gpt-5:exact": ODD}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-5:nitro", CHEAP),
        ("openai/gpt-5:online", CHEAP),
        ("openai/gpt-5-2026-11-22:floor", CHEAP),
        ("openai/gpt-5@preset/mine", CHEAP),
        ("openai/gpt-5:nitro@preset/mine", CHEAP),
        ("openai/gpt-5:exact", ODD),
        ("openai/gpt-5:free", None),
        ("gpt-5", CHEAP),
        ("GPT-5 ", CHEAP),
        ("anthropic/claude-x", DEAR),
        ("~anthropic/claude-x:thinking", DEAR),
        ("models/claude-x-20261122", DEAR),
        ("llama:latest", ODD),
        ("meta/LLAMA:70b", ODD),
        ("gpt-5-mini", None),
        ("openai/gpt", None),
        ("", None),
        ("/", None),
        (":nitro", None),
    ],
)
def test_no_alias_of_a_model_is_free(model: str, price: Price | None) -> None:
    assert price_of(KEPT, model) == price
    assert settle_price(KEPT, [model], "") == (model, price)


@pytest.mark.parametrize("model", ["openrouter/auto", "openrouter/auto:online", "@preset/mine", "a/router", "Auto"])
def test_a_choice_left_to_the_provider_is_reserved_at_the_highest_price(model: str) -> None:
    dearest = Price(7 * MILLION, 9 * MILLION, MILLION)
    assert highest_price(KEPT, [model]) == highest_price(KEPT, ["claude-x", model]) == dearest
    assert highest_price({**KEPT, model: CHEAP}, [model]) == CHEAP
    assert settle_price(KEPT, [model], "claude-x-20261122") == (model, DEAR)


def test_the_provider_s_own_cost_counts_if_it_exceeds_the_price() -> None:
    usage = Usage(1, 1, money=50)
    for model, cost in (("cheap", 50), ("cheap:nitro", 50), ("cheap-20261122", 50), ("free", 50)):
        _, price = settle_price(PRICES, [model], "")
        assert final_cost(price, usage) == cost
    assert final_cost(CHEAP, Usage(40, 20, money=50)) == final_cost(CHEAP, Usage(40, 20)) == 60


def test_a_money_budget_is_never_exceeded_by_any_fallback(tmp_path: Path) -> None:
    entry = Entry("p", prices=PRICES, budget=Budget(day_money=100))

    async def test(ledger: Ledger) -> list[int]:
        with pytest.raises(RefusedError) as refused:
            await ledger.reserve(entry, "cheap", input_tokens=10, min_output=10, max_output=10, fallbacks=["dear"])
        assert refused.value.why is Why.TOO_LARGE
        taken = []
        for named in ("cheap", "dear"):
            reservation = await ledger.reserve(
                entry, "cheap", input_tokens=1, min_output=1, max_output=3, fallbacks=["dear"]
            )
            taken.append(reservation.money)
            ledger.settle(reservation, Usage(1, 3), entry=entry, fallbacks=["dear"], reported_model=named)
        rows = (await ledger.read_since(0))["rows"]
        return [*taken, *sorted(row["money"] for row in rows if row["money"])]

    assert run(tmp_path, Clock(2026, 11, 22), test) == [32, 32, 4, 32]


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_lists_a_cheap_model_first_pays_for_the_model_that_answered(
    alice: Agent, provider: StreamingProvider, stream: bool
) -> None:
    prices = {"cheap": {"input": 0, "output": 0}, "dear": {"input": 0, "output": 2 * MILLION}}
    alice.gateway.apply(alice.entry(kind="openrouter", prices=prices, models=["cheap", "dear"]))
    provider.answers_as = "dear"
    assert alice.chat(model="cheap", models=["cheap", "dear"], stream=stream, max_tokens=50).status == 200
    costs = alice.settled()
    assert costs["output"] > 0
    assert costs["money"] == 2 * costs["output"]
    assert [row["model"] for row in alice.gateway.usage(alice.project) if row["requests"]] == ["dear"]
    assert alice.chat(model="cheap", models=["cheap", "forbidden"]).status == 404
