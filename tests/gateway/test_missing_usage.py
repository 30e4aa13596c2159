"""What a provider's usage leaves out, or contradicts, is estimated and marked."""

import json

import pytest
from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.document_meter import DocumentMeter
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.meters.usage import Usage

from tests.gateway.test_invalid_usage import BOUND, TEXT
from tests.gateway.test_meters import stream

pytestmark = pytest.mark.one_database


def finished(meter: Meter, data: bytes) -> Meter:
    meter.feed(data)
    meter.finish()
    return meter


def messages(start: object, end: object) -> bytes:
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "four"}}
    message = {"usage": start} if start != "missing" else {}
    return stream({"type": "message_start", "message": message}, text, {"type": "message_delta", "usage": end})


NO_INPUT: tuple[dict[str, object], ...] = ({}, {"prompt_tokens": None}, {"prompt_tokens": 0}, {"prompt_tokens": 0.0})
NO_OUTPUT: tuple[dict[str, object], ...] = ({}, {"completion_tokens": None}, {"completion_tokens": 0})
ANSWERED = {"choices": [{"message": {"role": "assistant", "content": "words"}, "finish_reason": "stop"}]}
EMPTY = {"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("missing", NO_INPUT, ids=map(str, NO_INPUT))
def test_input_that_is_not_reported_counts_its_reservation_and_is_marked(missing: dict[str, object]) -> None:
    expected, told = Usage(100, 5, is_estimated=True), {"completion_tokens": 5, **missing}
    newer = {name.replace("prompt", "input").replace("completion", "output"): each for name, each in told.items()}
    response = {"type": "response.completed", "response": {"usage": newer}}
    assert finished(ChatMeter(), stream(TEXT, {"choices": [], "usage": told})).final(BOUND) == expected
    assert finished(ResponsesMeter(), stream({"delta": "four"}, response)).final(BOUND) == expected
    for read, usage in ((read_openai_usage, told), (read_openai_usage, newer), (read_anthropic_usage, newer)):
        assert finished(DocumentMeter(read), json.dumps(ANSWERED | {"usage": usage}).encode()).final(BOUND) == expected
    for start in ("missing", None, {}, {"input_tokens": 0, "output_tokens": 0}, {"input_tokens": -1}, newer):
        assert finished(MessagesMeter(), messages(start, {"output_tokens": 5})).final(BOUND) == expected


@pytest.mark.parametrize("missing", NO_OUTPUT, ids=map(str, NO_OUTPUT))
def test_output_that_is_not_reported_is_estimated_and_marked(missing: dict[str, object]) -> None:
    told = {"prompt_tokens": 7, **missing}
    newer = {name.replace("prompt", "input").replace("completion", "output"): each for name, each in told.items()}
    response = {"type": "response.completed", "response": {"usage": newer}}
    for meter in (
        finished(ChatMeter(), stream(TEXT, {"choices": [], "usage": told})),
        finished(ResponsesMeter(), stream({"delta": "four"}, response)),
        finished(MessagesMeter(), messages({"input_tokens": 7, "output_tokens": 1}, missing and newer)),
    ):
        assert meter.final(BOUND) == Usage(7, 1, is_estimated=True)
    for read, usage in ((read_openai_usage, told), (read_openai_usage, newer), (read_anthropic_usage, newer)):
        for filling in (0, 300_000):
            document = {"filling": "x" * filling, **ANSWERED, "usage": usage}
            meter = finished(DocumentMeter(read), json.dumps(document).encode())
            assert meter.final(BOUND) == Usage(7, 50, is_estimated=True)


def test_a_plausible_zero_counts() -> None:
    told = {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}
    empty = {"choices": [{"delta": {"content": ""}}]}
    for meter in (
        finished(DocumentMeter(read_openai_usage), json.dumps(EMPTY | {"usage": told}).encode()),
        finished(ChatMeter(), stream(empty, {"choices": [], "usage": told})),
    ):
        assert meter.final(BOUND) == Usage(7, 0)
    for report in (told, {"prompt_tokens": 7}, {"prompt_tokens": 7, "total_tokens": 7}):
        embedding = json.dumps({"data": [{"embedding": [0.5]}], "usage": report}).encode()
        usage = finished(DocumentMeter(read_openai_usage), embedding).final(Usage(100, 0))
        assert (usage.input, usage.output, usage.is_estimated) == (7, 0, False)
    kept = {"input_tokens": 0, "cache_read_input_tokens": 90, "output_tokens": 1}
    assert finished(MessagesMeter(), messages(kept, {"output_tokens": 5})).final(BOUND) == Usage(90, 5, cached=90)


def test_numbers_that_contradict_each_other_are_not_believed() -> None:
    for details in ({"cached_tokens": 10**9}, {"cache_write_tokens": 10**9}, {"cached_tokens": 8}):
        told = {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": details}
        meter = finished(DocumentMeter(read_openai_usage), json.dumps({"usage": told}).encode())
        assert meter.final(BOUND) == Usage(100, 5, is_estimated=True)
    both = {"input_tokens": 0, "output_tokens": 0, "prompt_tokens": 7, "completion_tokens": 5}
    assert read_openai_usage(both) == Usage(7, 5)
    reasoned = {"prompt_tokens": 7, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 90}}
    assert read_openai_usage(reasoned) == Usage(7, 95)
    assert read_openai_usage(reasoned | {"completion_tokens": 95}) == Usage(7, 95)
    hour = {"input_tokens": 10, "output_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 100}}
    assert read_anthropic_usage(hour) == Usage(110, 1, extra=100)


def test_a_reported_cost_is_kept_if_the_tokens_are_not_reported() -> None:
    told = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.5}
    meter = finished(DocumentMeter(read_openai_usage), json.dumps({"usage": told}).encode())
    assert meter.final(BOUND) == Usage(100, 50, money=500_000, is_estimated=True)
