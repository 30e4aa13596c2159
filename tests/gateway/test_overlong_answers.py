"""If a provider writes more than requested, the budget is exceeded only by tokens that cannot be detected."""

import http.client
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.events import read_event
from gateway.meters.openai import ChatMeter
from gateway.meters.usage import MILLION, Usage
from gateway.rules.refusals import RefusedError
from gateway.sightings import REPORTED_AFTER, Sightings

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_ledger import Clock, run
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

ENDLESS = 30_000
"""Words. More than the buffers of all sockets hold."""
NOW = (2026, 11, 22)


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_a_stream_is_cut_when_the_budget_is_spent(alice: Agent, provider: StreamingProvider, path: str) -> None:
    alice.gateway.apply(alice.entry(budget={"day_tokens": 1000}))
    provider.obeys, provider.words = False, ENDLESS
    with pytest.raises(http.client.IncompleteRead) as cut:
        alice.chat(path=path, stream=True, input="", max_tokens=100)
    *events, last, end = cut.value.partial.split(b"\n\n")
    costs = alice.settled()
    assert len(events) <= costs["output"] < ENDLESS
    assert all(read_event(event) for event in events)
    error = read_event(last)["error"]
    assert "it resets on" in error["message"]
    assert (error["berth"]["budget"], end) == ("day", b"")
    assert wait_until(alice.budget_reached) == "day"
    assert costs["input"] + costs["output"] >= 1000
    assert costs["estimated"] == 1
    assert alice.chat(path=path, input="").status in (400, 429)
    assert len(provider.sales) == 1


def test_an_answer_that_fits_the_budget_passes_whole(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(budget={"day_tokens": 5000}))
    provider.obeys, provider.words = False, 900
    assert alice.chat(stream=True, max_tokens=100).body.count(b"word") == 900
    costs = alice.settled()
    assert (costs["input"] + costs["output"], costs["estimated"]) == (provider.sold(), 0)


def test_an_overlong_answer_in_one_piece_passes_and_counts(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(budget={"day_tokens": 1000}))
    provider.obeys, provider.words = False, 2000
    assert [alice.chat(max_tokens=100).status for _ in range(2)] == [200, 429]
    assert alice.settled()["output"] == 2000


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        (["word "] * 100, 100),
        ([" word"] * 100, 100),
        (["船舶"] * 100, 100),
        (["船"] * 100, 50),  # single characters
        (["船" * 90] * 100, 70),
        (["船舶" * 100] + ["船"] * 100, 101),  # each of these events counts as one token
        (["word word word word word word word word "] * 100, 800),
        # The only certain limit for these is that a token has at most 128 characters.
        (["x"] * 100, 0),
        (["----------------"] * 100, 12),
        ([" " * 80] * 100, 62),
        (["=" * 64 + "\n"] * 100, 50),
        (["internationalization"] * 100, 15),
    ],
)
def test_an_answer_is_too_long_only_beyond_doubt(texts: list[str], tokens: int) -> None:
    meter, at_once = ChatMeter(), ChatMeter()
    for number, text in enumerate(texts):
        delta = {"reasoning": text, "reasoning_content": text}
        delta |= {"content": ""}
        for each in (meter, at_once):
            each.feed(b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n")
        so_far = at_once.least_tokens()
        if number % 7 == 0:  # words are not counted in between
            assert not meter.exceeds(so_far)
            assert so_far == 0 or meter.exceeds(so_far - 1)
    assert meter.least_tokens() == at_once.least_tokens() == tokens


@pytest.mark.parametrize(("model", "tokens"), [("gpt-x", 80), ("anthropic/claude-x", 10)])
def test_a_token_may_be_as_long_as_the_longest_of_its_vocabulary(model: str, tokens: int) -> None:
    meter = ChatMeter()
    for _ in range(10):
        choices = [{"delta": {"content": " " * 1024}}]
        meter.feed(b"data: " + json.dumps({"model": model, "choices": choices}).encode() + b"\n\n")
    assert meter.least_tokens() == tokens


def test_the_excess_of_an_answer_is_reserved_within_the_budget_and_survives_a_kill(tmp_path: Path) -> None:
    entry = Entry("p", budget=Budget(day_tokens=1000, month_money=900), prices={"m": Price(0, MILLION, 0)})

    async def lose(ledger: Ledger) -> None:
        first = await ledger.reserve(entry, "m", input_tokens=100, min_output=1, max_output=300)
        longer = ledger.extend(first, entry, by=300)
        assert longer == replace(first, output=600, money=600)
        longest = ledger.extend(longer, entry, by=600)
        assert longest == replace(first, output=900, money=900)
        with pytest.raises(RefusedError, match="is reached"):
            ledger.extend(longest, entry, by=1)
        await ledger.read_since(0)  # all submitted work is on disk

    async def look(ledger: Ledger) -> None:
        (row,) = (await ledger.read_since(0))["rows"]
        assert (row["input"], row["output"], row["money"], row["estimated"]) == (100, 900, 900, 1)
        with pytest.raises(RefusedError, match="is reached"):
            await ledger.reserve(entry, "m", input_tokens=0, min_output=1, max_output=1)

    run(tmp_path, Clock(*NOW), lose)
    run(tmp_path, Clock(*NOW), look)


def test_the_reservation_for_a_longer_answer_is_released(tmp_path: Path) -> None:
    entry = Entry("p", budget=Budget(day_tokens=1000))

    async def test(ledger: Ledger) -> None:
        first = await ledger.reserve(entry, "m", input_tokens=0, min_output=1, max_output=300)
        other = await ledger.reserve(entry, "m", input_tokens=0, min_output=1, max_output=700)
        with pytest.raises(RefusedError, match="Calls in flight"):
            ledger.extend(first, entry, by=1)
        ledger.settle(other, Usage(), entry=entry)
        longer = ledger.extend(first, entry, by=700)
        ledger.settle(longer, Usage(0, 400), entry=entry)
        assert (await ledger.reserve(entry, "m", input_tokens=0, min_output=1, max_output=5000)).output == 600

    run(tmp_path, Clock(*NOW), test)


def test_a_long_answer_over_midnight_does_not_count_on_the_new_day() -> None:
    now = Clock(*NOW, 23, 59)
    sightings = Sightings(now)
    resets = "2026-11-23T00:00:00+00:00"
    now.now = now.now.replace(day=23, hour=0, minute=1)
    sightings.note_budget("p", "day", resets=resets)
    assert not sightings.as_document()["seen"]
    sightings.note_budget("p", "month", resets="2026-12-01T00:00:00+00:00")
    now.now += timedelta(seconds=REPORTED_AFTER)
    assert sightings.as_document()["seen"]["p"]["budget_period"] == "month"


def test_a_lasting_refusal_is_reported_until_a_call_fits() -> None:
    now, resets = Clock(*NOW), "2026-12-01T00:00:00+00:00"
    sightings = Sightings(now)

    def told(seconds: float) -> list[bool]:
        now.now += timedelta(seconds=seconds)
        seen = sightings.as_document()["seen"]["p"]
        return [seen[name] is not None for name in ("budget_reached", "budget_period", "budget_room")]

    sightings.note_budget("p", "month", resets=resets)
    assert told(REPORTED_AFTER / 2) == [False, False, False]
    sightings.note_room("p")  # less room than reported before
    assert told(REPORTED_AFTER) == [False, False, True]
    for _ in range(2):
        sightings.note_budget("p", "month", resets=resets)
        seen = told(REPORTED_AFTER / 2)
    assert seen == [True, True, True]
    sightings.note_room("p")
    assert told(0) == [False, False, True]
    assert sightings.as_document()["seen"]["p"]["budget_room"] == now.now.timestamp()
