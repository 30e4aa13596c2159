"""A budget is kept even if a provider writes more than requested in a text without countable words."""

import json
from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Kind
from gateway.meters.openai import ChatMeter, ResponsesMeter
from gateway.providers.call_cost import CallCost
from gateway.providers.length_watch import LengthWatch
from gateway.providers.parsed_call import ParsedCall
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError
from gateway.sightings import Sightings

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

NOW = (2026, 11, 22)
WITHOUT_WORDS = ["abcdefgh", '{"a":[1,2],"b":{"c":null}}', "😀", "слово,"]


def event(text: str) -> bytes:
    """Returns an event of 10,000 characters."""
    delta = {"content": (text * 10_000)[:10_000]}
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


@pytest.mark.parametrize("text", WITHOUT_WORDS)
@pytest.mark.parametrize("budget", [1000, 100_000])
def test_an_answer_without_text_is_cut_and_counted_too(tmp_path: Path, text: str, budget: int) -> None:
    """The call requests 16 tokens and gets 200,000 characters: certainly 1,562 tokens, and likely 50,000 or more."""
    entry = Entry("p", budget=Budget(day_tokens=budget))

    async def test(ledger: Ledger) -> None:
        parsed = ParsedCall(Call.CHAT, {}, "m", 0, 16, 1, is_stream=True)
        cost = CallCost(await ledger.reserve(entry, "m", input_tokens=0, min_output=16, max_output=16))
        await ledger.read_since(0)
        meter, last = ChatMeter(), b""
        length_watch = LengthWatch(meter, ledger, Sightings(Clock(*NOW)), entry, Kind.OPENAI, parsed, cost)
        for _ in range(20):
            meter.feed(event(text))
            last = last or length_watch.check()
        assert (b"it resets on" in last) == (budget == 1000)
        length_watch.mark_broken()
        assert cost.usage.is_estimated
        assert cost.usage.output >= 50_000
        assert budget == 1000 or cost.usage.output <= cost.reservation.output <= budget
        ledger.settle(cost.reservation, cost.usage, entry=entry)
        with pytest.raises(RefusedError):
            await ledger.reserve(entry, "m", input_tokens=0, min_output=60_000, max_output=60_000)

    run(tmp_path, Clock(*NOW), test)


def test_a_sound_in_a_response_does_not_set_its_length() -> None:
    meter = ResponsesMeter()
    meter.feed(b"data: " + json.dumps({"type": "response.audio.delta", "delta": "A" * 9000}).encode() + b"\n\n")
    assert (meter.least_tokens(), meter.likely_tokens()) == (0, 2250)
