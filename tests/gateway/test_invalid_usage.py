"""Wrong or invalid reports of usage make no answer free."""

import json
from typing import Any

import pytest
from gateway.budgets.prices import price_to_reserve
from gateway.entries.entry import Price
from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.document_meter import DocumentMeter
from gateway.meters.openai import ChatMeter, read_openai_usage
from gateway.meters.usage import Usage, cost_of

from tests.fakes.messages import Answer, Streamed
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_meters import stream

pytestmark = pytest.mark.one_database

BOUND = Usage(100, 50)
NO_COUNTS: tuple[object, ...] = (-1, "5", True, 1.5, float("nan"), float("inf"), 2**40, 10**1000, [], {})
TEXT = {"choices": [{"delta": {"content": "four"}}]}


@pytest.mark.parametrize("junk", NO_COUNTS, ids=map(str, range(len(NO_COUNTS))))
def test_an_invalid_count_makes_no_answer_free(junk: object) -> None:
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert read_openai_usage({"prompt_tokens": 1, "completion_tokens": 2, name: junk}) is None
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
        assert read_anthropic_usage({"input_tokens": 1, "output_tokens": 2, name: junk}) is None
    assert read_openai_usage({"input_tokens": 1, "input_tokens_details": {"cached_tokens": junk}}) is None


def test_zero_and_whole_floats_are_counts() -> None:
    assert read_openai_usage({"prompt_tokens": 8.0, "completion_tokens": None, "total_tokens": 8}) == Usage(8, 0)
    assert read_anthropic_usage({"input_tokens": None, "output_tokens": 3}) == Usage(0, 3)
    assert read_openai_usage({"prompt_tokens": None, "completion_tokens": None}) is None


def test_thinking_that_only_the_total_includes_counts() -> None:
    told = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}  # as xAI reports it
    assert read_openai_usage(told) == Usage(32, 103)


@pytest.mark.parametrize("junk", [None, {"prompt_tokens": -5, "completion_tokens": -5}, {"total_tokens": "9"}, [], 7])
def test_a_stream_with_junk_usage_is_estimated_and_marked(junk: object) -> None:
    meter = ChatMeter(hide_usage=True)
    meter.feed(stream(TEXT, {"choices": [], "usage": junk}))
    assert meter.final(BOUND) == Usage(100, 1, is_estimated=True)


def test_a_server_that_always_reports_zeros_is_estimated() -> None:
    meter = ChatMeter()
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    meter.feed(stream(*[TEXT] * 30, {"choices": [], "usage": zeros}))
    assert meter.final(BOUND) == Usage(100, 30, is_estimated=True)
    whole = DocumentMeter(read_openai_usage)
    whole.feed(json.dumps({"usage": zeros}).encode())
    whole.finish()
    assert whole.final(BOUND) == Usage(100, 50, is_estimated=True)


def test_usage_reported_before_the_text_is_not_trusted() -> None:
    meter = ChatMeter()
    early: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 0}}
    meter.feed(stream(early, *[TEXT] * 30))
    assert meter.final(BOUND) == Usage(7, 30, is_estimated=True)
    meter.feed(stream({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 31}}))
    assert meter.final(BOUND) == Usage(7, 31)


def test_cache_writes_cost_more_and_are_reserved_for() -> None:
    price = Price(input=1_000_000, output=5_000_000, cached=100_000)
    told = {"input_tokens": 10, "cache_creation_input_tokens": 100, "output_tokens": 1}
    hour = {"ephemeral_1h_input_tokens": 100}
    for parts, costs in ((None, 110 + 25 + 5), ({}, 110 + 25 + 5), (hour, 110 + 100 + 5)):
        usage = read_anthropic_usage(told | {"cache_creation": parts})
        assert usage
        assert cost_of(usage, price) == costs <= cost_of(Usage(110, 1), price_to_reserve(price, is_cached=True))
    meter = MessagesMeter()
    start = {"type": "message_start", "message": {"usage": told | {"cache_creation": hour}}}
    meter.feed(stream(start, {"type": "message_delta", "usage": {"output_tokens": 9}}))
    assert cost_of(meter.final(BOUND), price) == 110 + 100 + 45
    kept = read_openai_usage({"prompt_tokens": 100, "prompt_tokens_details": {"cache_write_tokens": 40}})
    assert kept
    assert cost_of(kept, price) == 110
    assert price_to_reserve(Price(1, 2, 9), is_cached=False) == Price(9, 2, 9)


def test_an_answer_without_trustworthy_usage_counts_its_reservation(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(budget={"day_tokens": 100_000}))
    usage = b'{"usage": {"prompt_tokens": -3, "completion_tokens": "none"}}'
    provider.answer_with = Answer(200, usage)
    assert alice.chat(max_tokens=50).status == 200
    whole = alice.settled()
    assert (whole["output"], whole["estimated"]) == (50, 1)
    provider.answer_with = Streamed(
        200, b"", {"Content-Type": "text/event-stream"}, pieces=[b"data: " + usage + b"\n\n"]
    )
    assert alice.chat(stream=True, max_tokens=50).status == 200
    assert alice.settled(2)["estimated"] == 2


def test_under_a_money_budget_no_more_expensive_service_tier_is_selected(
    alice: Agent, provider: StreamingProvider
) -> None:
    prices = {"model-a": {"input": 1, "output": 1}}
    for budget, left in (({"day_money": 10**9}, {"flex"}), ({"day_tokens": 10**6}, {"flex", "priority", "fast"})):
        alice.gateway.apply(alice.entry(budget=budget, prices=prices))
        provider.sales.clear()
        for fields in ({"service_tier": "priority"}, {"service_tier": "flex"}, {"speed": "fast"}):
            assert alice.chat(max_tokens=5, **fields).status == 200
        asked = {each for sale in provider.sales for each in (sale.body.get("service_tier"), sale.body.get("speed"))}
        assert asked - {None} == left


def test_other_names_of_the_output_limit_are_capped_to_the_budget_too(
    alice: Agent, provider: StreamingProvider
) -> None:
    alice.gateway.apply(alice.entry(kind="compatible", budget={"day_tokens": 1000}))
    assert alice.chat(n_predict=10**9).status == 200
    (sale,) = provider.sales
    assert sale.body["n_predict"] == sale.body["max_tokens"] < 1000
    assert alice.chat(n_predict=-1).status == 400
