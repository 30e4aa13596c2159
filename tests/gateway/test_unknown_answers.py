"""A stream of a form that the gateway does not know is neither free nor longer than the budget allows."""

import http.client
from typing import Any

import pytest
from gateway.meters.event_meter import EventMeter
from gateway.meters.events import END_OF_STREAM, read_other_data
from gateway.meters.openai import ChatMeter
from gateway.meters.usage import Usage
from gateway.providers.meter_choice import choose_meter
from gateway.providers.parsed_call import ParsedCall
from gateway.rules.paths import Call

from tests.fakes.messages import Streamed
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.answer_forms import ENDS, FORMS, KNOWN, METERS, PATHS, TEXT, event
from tests.gateway.test_meters import stream

pytestmark = pytest.mark.one_database

BOUND = Usage(100, 50)


def cases(forms: dict[str, dict[str, bytes]]) -> list[Any]:
    return [pytest.param(path, form, id=f"{path}-{name}") for path in forms for name, form in forms[path].items()]


@pytest.mark.parametrize(("path", "form"), cases(FORMS))
def test_a_stream_of_unknown_form_counts_at_least_its_reservation(path: str, form: bytes) -> None:
    for number, least in ((1, 50), (2, 50), (30, 600)):
        meter = METERS[path]()
        meter.feed(form * number + b"data: [DONE]\n\n")
        for usage in (meter.final(BOUND), meter.estimate(BOUND)):
            assert (usage.input, usage.is_estimated) == (100, True)
            assert least <= usage.output <= max(50, 35 * number)


@pytest.mark.parametrize(("path", "form"), [*cases(FORMS), *cases(KNOWN)])
def test_the_words_of_an_answer_count_in_any_form(path: str, form: bytes) -> None:
    meter = METERS[path]()
    for _ in range(10):
        room = meter.bytes_below(100)
        assert meter.feed(form) == form
        assert not meter.exceeds(100) or len(form) > room
    assert 190 <= meter.least_tokens() <= 230
    assert meter.likely_tokens() <= 350


@pytest.mark.parametrize("path", METERS)
def test_a_whole_stream_without_anything_to_read_counts_its_reservation(path: str) -> None:
    for nothing in (b"", b": ping\n\n", b"data: [DONE]\n\n", b"no event", b"\n\n", event({}), event({"type": "ping"})):
        meter = METERS[path]()
        meter.feed(nothing)
        meter.finish()
        assert meter.final(BOUND) == Usage(100, 50, is_estimated=True)
        assert meter.estimate(BOUND) == Usage(100, 0, is_estimated=True)


@pytest.mark.parametrize("path", METERS)
@pytest.mark.parametrize("data", [b'{"message": {"content": "word word"}}\n', b"word word\n", b"data: word word\n"])
def test_an_endless_event_counts_its_reservation_if_the_agent_leaves(path: str, data: bytes) -> None:
    meter = METERS[path]()
    for _ in range(100):
        meter.feed(data)
    assert meter.estimate(BOUND) == Usage(100, 50, is_estimated=True)


@pytest.mark.parametrize("path", METERS)
def test_a_mark_of_the_encoding_hides_no_event(path: str) -> None:
    for form in (KNOWN[path]["delta"], FORMS[path]["only JSON"]):
        marked, plain = METERS[path](), METERS[path]()
        for number in range(3):
            marked.feed(b"" if number else "\ufeff".encode() + form)
            plain.feed(b"" if number else form)
        assert marked.likely_tokens() == plain.likely_tokens() == 25


@pytest.mark.parametrize(("path", "error"), [
    ("chat", {"error": {"message": "The model is overloaded."}}),
    ("responses", {"type": "error", "message": "The model is overloaded."}),
    ("responses", {"type": "response.failed", "response": {"error": {"message": "It is overloaded."}}}),
    ("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "It is overloaded."}}),
])  # fmt: skip
def test_an_error_in_a_stream_is_no_output(path: str, error: object) -> None:
    meter = METERS[path]()
    meter.feed(event(error))
    assert meter.final(BOUND) == Usage(100, 0, is_estimated=True)


@pytest.mark.parametrize("path", METERS)
def test_known_events_besides_the_text_are_no_output(path: str) -> None:
    meter = METERS[path]()
    meter.feed(KNOWN[path]["delta"])
    before = meter.likely_tokens()
    for each in ENDS[path]:
        meter.feed(event(each))
    meter.feed(b"data: [DONE]\n\n")
    assert (meter.likely_tokens(), meter.final(BOUND)) == (before, Usage(7, 5))


def test_an_event_with_text_is_passed_on_even_if_it_reports_the_usage() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    for document, is_passed in (({"response": TEXT, "usage": usage}, True), ({"response": "", "usage": usage}, False)):
        meter = ChatMeter(hide_usage=True)
        assert bool(meter.feed(event(document))) == is_passed
        assert meter.usage == Usage(7, 5)


def test_a_usage_before_an_answer_of_unknown_form_is_not_trusted() -> None:
    meter = ChatMeter()
    meter.feed(stream({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}))
    meter.feed(FORMS["chat"]["message"])
    assert meter.final(BOUND) == Usage(7, 50, is_estimated=True)


def test_data_other_than_an_object_is_read_once() -> None:
    data = {b"": "", b"[1, 2]": [1, 2], b'"a"': "a", b"a": "a", b"[1": "[1", b"\xff": "�", b"null": "null"}
    for text, read in data.items():
        assert read_other_data(b"data: " + text + b"\n\n") == read
    assert read_other_data(f"event: end\ndata: {END_OF_STREAM}\r\n\r\n".encode()) is None
    assert read_other_data(b": ping\n\n") == ""


@pytest.mark.parametrize(("kind", "is_stream", "is_read"), [
    ("text/event-stream; charset=utf-8", False, True),
    ("", True, True), ("text/plain", True, True), ("application/octet-stream", True, True),
    ("text/plain", False, False), ("application/json", True, False), ("application/x-ndjson", True, False),
])  # fmt: skip
def test_a_requested_stream_is_read_as_one_whatever_its_type(kind: str, is_stream: bool, is_read: bool) -> None:
    for call in (Call.CHAT, Call.MESSAGES, Call.RESPONSES):
        parsed = ParsedCall(call, {}, "m", 0, 16, 1, is_stream=is_stream)
        assert isinstance(choose_meter(parsed, {"Content-Type": kind}), EventMeter) == is_read


@pytest.mark.parametrize(("path", "form"), cases({path: {"any": FORMS[path]["message"]} for path in FORMS}))
def test_an_overlong_answer_of_unknown_form_is_cut(
    alice: Agent, provider: StreamingProvider, path: str, form: bytes
) -> None:
    alice.gateway.apply(alice.entry(kind="compatible", budget={"day_tokens": 2000}))
    provider.answer_with = Streamed(200, b"", {"Content-Type": "text/event-stream"}, pieces=[form] * 3000)
    with pytest.raises(http.client.IncompleteRead) as cut:
        alice.chat(path=PATHS[path], stream=True, input="", max_tokens=50)
    costs = alice.settled()
    assert cut.value.partial.count(b"word") <= costs["output"] < 20 * 3000
    assert costs["input"] + costs["output"] >= 2000
    assert costs["estimated"] == 1


def test_streams_of_unknown_form_reach_a_budget_of_money(alice: Agent, provider: StreamingProvider) -> None:
    prices = {"model-a": {"input": 0, "output": 10_000_000}}
    alice.gateway.apply(alice.entry(kind="compatible", budget={"day_money": 1000}, prices=prices))
    headers = {"Content-Type": "text/event-stream"}
    provider.answer_with = Streamed(200, b"", headers, pieces=[FORMS["chat"]["message in a choice"]] * 5)
    assert alice.chat(stream=True, max_tokens=100).status == 200
    assert alice.settled()["money"] == 1000
    assert alice.chat(stream=True, max_tokens=100).status == 429
