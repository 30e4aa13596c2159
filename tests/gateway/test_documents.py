"""The usage of an answer that is one JSON document is its own, however long the document is."""

import json

import pytest
from gateway.meters.document_meter import MAX_WHOLE_DOCUMENT, TAIL, DocumentMeter
from gateway.meters.openai import read_openai_usage
from gateway.meters.usage import Usage

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("filling", [10, MAX_WHOLE_DOCUMENT * 2], ids=["short", "long"])
def test_the_usage_of_a_document_is_found_at_its_end(filling: int) -> None:
    words = 'quoted "usage": {"prompt_tokens": 1}' + "x" * filling
    document = {"choices": [{"message": {"content": words}}], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}
    data = json.dumps(document).encode()
    meter = DocumentMeter(read_openai_usage)
    assert b"".join(meter.feed(data[at : at + 999]) for at in range(0, len(data), 999)) == data
    meter.finish()
    assert meter.usage == Usage(7, 5)


OWN = {"usage": {"prompt_tokens": 7, "completion_tokens": 500}}
OTHER = {"usage": {"prompt_tokens": 1, "completion_tokens": 1}}
ENDS_OF_DOCUMENTS: dict[str, dict[str, object]] = {
    "before": {"tools": [OTHER], "other": OTHER, **OWN},
    "after": {**OWN, "tools": [{"parameters": OTHER}], "other": OTHER, "more": [[OTHER]]},
    "nested": {**OWN, "other": {"a": {"usage": {"usage": {"b": OTHER, **OTHER}}}}},
    "in itself": {"usage": {**OWN["usage"], "details": OTHER}},
    "in a text": {**OWN, "text": json.dumps(OTHER), "more": '"usage": {"prompt_tokens": 1}'},
    "null": {**OWN, "other": {"usage": None}},
}


@pytest.mark.parametrize("filling", [10, MAX_WHOLE_DOCUMENT * 2], ids=["short", "long"])
@pytest.mark.parametrize("end", ENDS_OF_DOCUMENTS)
def test_only_the_own_usage_of_a_document_counts(end: str, filling: int) -> None:
    document = {"choices": [{"message": {"content": "é" * filling}}], **ENDS_OF_DOCUMENTS[end]}
    for indent in (None, 1):
        meter = DocumentMeter(read_openai_usage)
        meter.feed(json.dumps(document, indent=indent).encode() + b"\r\n")
        meter.finish()
        assert meter.usage == Usage(7, 500)


@pytest.mark.parametrize("end", [
    json.dumps({"tools": [OTHER]})[1:],
    json.dumps({**OWN, "text": "x" * 2 * TAIL, "other": OTHER})[1:],
    json.dumps({**OWN, "other": OTHER})[1:-1],
    json.dumps(OTHER)[1:] + "]",
    '"usage": {' * 1000,
    '"usage": {"a": ' * 1000 + "1" + "}" * 1001,
], ids=range(6))  # fmt: skip
def test_no_usage_is_read_from_a_long_document_if_its_own_is_not_near_its_end(end: str) -> None:
    meter = DocumentMeter(read_openai_usage)
    meter.feed(b'{"a": "' + b"x" * MAX_WHOLE_DOCUMENT * 2 + b'", ' + end.encode())
    meter.finish()
    assert meter.usage is None
