"""Meters read the same usage wherever a stream is split into pieces, and pass on every byte except hidden events."""

import json
import random
from collections.abc import Callable

import pytest
from gateway.entries.entry import Price
from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.events import EventSplitter, may_report_usage, read_event, read_only_event
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.meters.usage import Usage, cost_of

pytestmark = pytest.mark.one_database


def stream(*documents: object, end: str = "\n\n") -> bytes:
    return "".join(f"data: {json.dumps(each)}{end}" for each in documents).encode() + f"data: [DONE]{end}".encode()


CHAT = (
    {"choices": [{"delta": {"content": "Hé"}}], "usage": None},
    {"choices": [{"delta": {"content": 'say "usage": {"prompt_tokens": 9}'}}]},
    {
        "choices": [],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}},
    },
)
MESSAGES = (
    {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 1}},
    },
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hé"}},
    {"type": "message_delta", "usage": {"output_tokens": 5}},
)
RESPONSES = (
    {"type": "response.output_text.delta", "delta": "Hé"},
    {
        "type": "response.completed",
        "response": {"usage": {"input_tokens": 7, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 3}}},
    },
)
CASES: dict[str, tuple[Callable[[], Meter], tuple[object, ...]]] = {
    "chat": (ChatMeter, CHAT),
    "hidden": (lambda: ChatMeter(hide_usage=True), CHAT),
    "messages": (MessagesMeter, MESSAGES),
    "responses": (ResponsesMeter, RESPONSES),
}


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("case", CASES)
def test_a_stream_is_read_the_same_however_it_is_cut(case: str, end: str) -> None:
    make, documents = CASES[case]
    data = stream(*documents, end=end)
    expected = stream(*documents[:2], end=end) if case == "hidden" else data
    for size in (*range(1, 12), 50, len(data)):
        meter = make()
        passed = b"".join(meter.feed(data[at : at + size]) for at in range(0, len(data), size)) + meter.finish()
        assert passed == expected
        assert meter.usage == Usage(7, 5, 3)


def test_events_are_split_the_same_way_at_once_and_byte_by_byte() -> None:
    chance = random.Random(11)
    for _ in range(1000):
        text = b"".join(chance.choices([b"\n\n", b"\n", b"\r", b"\r\n", b"data: {}", b"x"], k=chance.randrange(1, 9)))
        whole, slow = EventSplitter(), EventSplitter()
        events = whole.split(text), [event for byte in text for event in slow.split(bytes([byte]))]
        # An event that ends with half a line ending continues with the next piece.
        assert b"".join([*events[0], whole.take_rest()]) == text == b"".join([*events[1], slow.take_rest()])
        if b"\r" not in text:
            assert events[0] == events[1], text


DATA = [
    b"data: {}", b'data:{"a": 1}', b'data:  {"a": [1.5, "\\u00e9"]} ', b'data: {"a": 1}x', b'data: {"a": 1} {"b": 2}',
    b'event: e\ndata: {"a": 1}', b'data: {"a":\ndata: 1}', b'data: {"a":\r\ndata: 1}\r\nid: 7',
    b"data: [1]", b"data: [DONE]", b'data: {"a": NaN}', b'data: {"a": 1', b"data: {",
    b'data: {"a": "\xff"}', b'data: {"a": "\xed\xa0\x80"}',
    b'event: e\ndata: {"a": "\\n"}', b'event: e\n\ndata: {"a": 1}', b'data: {"a": 1, "a": 2}',
    b'data: {"a": -0, "b": 1e3}',
    b"{}", b"", b": {}", b' data: {"a": 1}', b'data: {"a": "\x01"}', b"data: {" + b'"a":{' * 5000,
]  # fmt: skip


@pytest.mark.parametrize("event", DATA, ids=range(len(DATA)))
@pytest.mark.parametrize("end", [b"", b"\n\n", b"\r\n\r\n"])
def test_an_event_is_parsed_as_the_sse_format_says(event: bytes, end: bytes) -> None:
    data = b"\n".join(line[5:] for line in event.splitlines() if line.startswith(b"data:"))
    try:
        expected = json.loads(data.decode(errors="replace"))
    except (ValueError, RecursionError):
        expected = {}
    expected = expected if isinstance(expected, dict) else {}
    assert repr(read_event(event + end)) == repr(expected)
    assert repr(read_only_event(event + end)) in ("None", repr(expected))


@pytest.mark.parametrize("case", CASES)
def test_a_stream_that_ends_anywhere_is_estimated_within_its_bound(case: str) -> None:
    make, documents = CASES[case]
    data = stream(*documents)
    bound = Usage(1000, 20)
    for end in range(len(data)):
        meter = make()
        meter.feed(data[:end])
        guess = meter.estimate(bound)
        assert guess.is_estimated
        assert guess.input in (7, 1000)
        assert guess.output <= 20


def test_junk_in_a_stream_harms_nothing() -> None:
    junk = b'data: {"choices": 5}\n\ndata: {"choices": [null, {"delta": 7}]}\n\n'
    junk += b": ping\n\ndata: {\n\ndata: [1]\n\n\xff\xfe\n\n"
    for meter in (ChatMeter(), MessagesMeter(), ResponsesMeter()):
        assert meter.feed(junk) + meter.finish() == junk
        assert meter.usage is None


def test_an_endless_event_is_forwarded_and_not_kept() -> None:
    meter = ChatMeter(hide_usage=True)
    passed = sum(len(meter.feed(b"x" * 65536)) for _ in range(64))
    assert passed + len(meter.finish()) == 64 * 65536
    assert meter.estimate(Usage(3, 4)) == Usage(3, 4, is_estimated=True)


@pytest.mark.parametrize(
    "junk", [None, 5, [], {}, {"input_tokens": "9"}, {"prompt_tokens": -1}, {"output_tokens": True}]
)
def test_junk_in_the_place_of_usage_counts_nothing(junk: object) -> None:
    for read in (read_openai_usage, read_anthropic_usage):
        assert (read(junk) or Usage()).tokens == 0


def test_usage_that_anthropic_reports_twice_counts_once() -> None:
    first = read_anthropic_usage({"input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 1})
    assert read_anthropic_usage({"input_tokens": 15, "output_tokens": 9}, first) == Usage(15, 9, extra=2)


@pytest.mark.parametrize(
    ("told", "money"),
    [
        ({"is_byok": True}, 19_950_000),
        ({}, 19_950_000),  # OpenRouter's former format had the details only for such keys
        ({"is_byok": False}, 950_000),
        ({"is_byok": True, "cost": 0}, 19_000_000),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 950_000),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": "19"}}, 950_000),
        ({"is_byok": True, "cost_details": [1]}, 950_000),
    ],
)
def test_what_an_own_key_pays_behind_openrouter_counts_as_well(told: dict[str, object], money: int) -> None:
    usage: dict[str, object] = {"prompt_tokens": 194, "completion_tokens": 2, "cost": 0.95}
    usage |= {"cost_details": {"upstream_inference_cost": 19}} | told
    assert read_openai_usage(usage) == Usage(194, 2, money=money)


def test_money_is_rounded_up_and_the_price_of_staff_counts_first() -> None:
    price = Price(input=1_000_000, output=2_000_000, cached=100_000)
    assert cost_of(Usage(10, 5, cached=4), price) == 17  # 6 + 0.4 + 10
    assert cost_of(Usage(10, 5, money=3), None) == 3
    assert cost_of(Usage(10, 5, money=3), price) == 20


@pytest.mark.parametrize(("event", "may"), [
    ('{"choices": []}', False),
    ('{"choices": [], "usage": null}', False),
    ('{"choices":[],"usage":null}', False),
    ('{"choices": [], "usage":  null}', True),
    ('{"choices": [], "usage": {"prompt_tokens": 1}}', True),
    ('{"usage": null, "choices": [], "usage": {"prompt_tokens": 1}}', True),
    ('{"choices": [], "\\u0075sage": {"prompt_tokens": 1}}', True),
    ('{"usage": null, "\\u0075sage": {"prompt_tokens": 1}}', True),
    ('{"content": "the usage of a word"}', True),
])  # fmt: skip
def test_a_piece_that_may_report_usage_is_recognised(event: str, may: bool) -> None:
    assert may_report_usage(f"data: {event}\n\n".encode()) == may
