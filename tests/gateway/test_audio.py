"""A transcription reserves the tokens of the longest audio that its bytes can contain."""

import json
from pathlib import Path

import pytest
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Kind, Limits
from gateway.meters.openai import read_openai_usage
from gateway.meters.usage import Usage
from gateway.providers.call_cost import CallCost
from gateway.providers.length_watch import LengthWatch
from gateway.providers.meter_choice import choose_meter
from gateway.providers.parsed_call import ParsedCall
from gateway.providers.reading import read_call
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call
from gateway.sightings import Sightings

from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

FREE_PLAN = 500_000
LIMITS = Limits()


def bound(size: int) -> int:
    parts = {"model": b"gpt-4o-transcribe", "file": bytes(size)}
    head = '--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n'
    body = b"".join((head % name).encode() + value + b"\r\n" for name, value in parts.items()) + b"--x--\r\n"
    return run_at_once(read_call(Call.TRANSCRIPTION, Entry("p"), "multipart/form-data; boundary=x", body)).input


@pytest.mark.parametrize("kilobits", [6, 16, 32, 128])
@pytest.mark.parametrize("minutes", [1, 5, 20])
def test_a_sound_costs_no_more_than_is_reserved(kilobits: int, minutes: int) -> None:
    """Audio has ten tokens a second, and fast speakers say 250 words a minute of two tokens each."""
    assert bound(minutes * 60 * kilobits * 125) >= minutes * (60 * 10 + 250 * 2)


def test_an_ordinary_voice_message_fits_the_smallest_plan_easily() -> None:
    assert bound(60_000) < FREE_PLAN / 100  # 20 seconds
    assert bound(1_200_000) < FREE_PLAN / 10  # five minutes


def spoken(text: str, **options: object) -> int:
    body = json.dumps({"model": "gpt-4o-mini-tts", "input": text, "voice": "a"} | options).encode()
    return run_at_once(read_call(Call.SPEECH, Entry("p"), "application/json", body)).output


def test_a_text_that_is_read_aloud_is_reserved_by_its_length_and_slowness() -> None:
    """Speech has 21 tokens and fourteen letters of English a second."""
    assert spoken("short") == LIMITS.media_tokens
    assert spoken("a" * 4096) >= 4096 / 14 * 21
    assert spoken("a" * 4096, speed=0.25) >= 4 * 4096 / 14 * 21
    assert spoken("a" * 4096) == pytest.approx(spoken("a" * 4096, speed=4.0), abs=100)
    odd: list[object] = [None, "x", True, [], 0, -1]
    assert all(spoken("a" * 4096, speed=speed) >= 2 * 4096 for speed in odd)


def test_a_sound_that_has_no_room_as_a_whole_is_not_asked_for(alice: Agent, provider: StreamingProvider) -> None:
    alice.gateway.apply(alice.entry(budget={"day_tokens": LIMITS.media_tokens - 1}))
    answer = alice.ask("POST", "/llm/v1/audio/speech", {"model": "tts", "input": "hello"}, headers=alice.login)
    assert (answer.status, provider.sales) == (413, [])
    alice.gateway.apply(alice.entry(budget={"day_tokens": LIMITS.media_tokens + 100}))
    answer = alice.ask("POST", "/llm/v1/audio/speech", {"model": "tts", "input": "hello"}, headers=alice.login)
    assert answer.status == 200


def test_a_transcript_stays_within_its_reservation_and_is_never_cut(tmp_path: Path) -> None:
    """A budget of exactly the reservation has room for the whole transcript."""
    entry = Entry("p", budget=Budget(day_tokens=bound(60_000)))
    parsed = ParsedCall(Call.TRANSCRIPTION, {}, "m", bound(60_000), output=0, choices=1, is_stream=False)
    delta = {"type": "transcript.text.delta", "delta": "so many words "}

    async def test(ledger: Ledger) -> None:
        cost = CallCost(await ledger.reserve(entry, "m", input_tokens=parsed.input, min_output=0, max_output=0))
        meter = choose_meter(parsed, {"Content-Type": "text/event-stream"})
        length_watch = LengthWatch(meter, ledger, Sightings(Clock(2026, 11, 22)), entry, Kind.OPENAI, parsed, cost)
        for _ in range(300):
            meter.feed(b"data: " + json.dumps(delta).encode() + b"\n\n")
            assert length_watch.check() == b""
        cost.mark_broken(meter)
        assert cost.usage.tokens == bound(60_000)

    run(tmp_path, Clock(2026, 11, 22), test)


def test_the_seconds_that_a_provider_reports_count_unless_they_are_nonsense() -> None:
    assert read_openai_usage({"type": "duration", "seconds": 20.1}) == Usage(402, is_estimated=True)
    nonsense: list[object] = [None, 0, -1, True, "9", float("nan"), float("inf"), [], 10**9]
    for seconds in nonsense:
        assert read_openai_usage({"type": "duration", "seconds": seconds}) is None
