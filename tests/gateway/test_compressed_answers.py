"""Unrequested compressed answers are unpacked. Unreadable ones are blocked, as they could contain the credential."""

import gzip
import http.client
import json
import random
import zlib
from collections.abc import Callable

import pytest

from tests.fakes.messages import Answer, Streamed
from tests.fakes.streaming import StreamingProvider
from tests.gateway.agents import Agent
from tests.gateway.test_meters import CHAT, stream

pytestmark = pytest.mark.one_database

PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "GZIP": gzip.compress}
DOCUMENT = {"choices": [{"message": {"content": "hello"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}


def packed(body: bytes, coding: str = "gzip", kind: str = "application/json") -> Answer:
    headers = {"Content-Type": kind, "Content-Encoding": coding}
    return Answer(200, PACKED.get(coding, gzip.compress)(body), headers)


@pytest.mark.parametrize("coding", PACKED)
def test_a_compressed_answer_is_read_counted_and_passed_unchanged(
    alice: Agent, provider: StreamingProvider, coding: str
) -> None:
    provider.answer_with = packed(json.dumps(DOCUMENT).encode(), coding)
    answer = alice.chat()
    assert (answer.json(), answer.headers.get("content-encoding")) == (DOCUMENT, None)
    settled = alice.settled()
    assert (settled["input"], settled["output"], settled["estimated"]) == (7, 5, 0)


def test_a_compressed_stream_passes_without_the_usage_event_that_the_gateway_requested(
    alice: Agent, provider: StreamingProvider
) -> None:
    whole = gzip.compress(stream(*CHAT))
    pieces = [whole[at : at + 9] for at in range(0, len(whole), 9)]
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}
    provider.answer_with = Streamed(200, b"", headers, pieces=pieces)
    assert alice.chat(stream=True).body == stream(*CHAT[:2])
    settled = alice.settled()
    assert (settled["input"], settled["output"], settled["estimated"]) == (7, 5, 0)


def test_a_compressed_answer_that_repeats_the_key_is_cut_off(alice: Agent, provider: StreamingProvider) -> None:
    provider.answer_with = packed(json.dumps({"key": alice.key}).encode())
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        alice.chat()


@pytest.mark.parametrize("coding", ["br", "zstd", "x-gzip", "gzip, br", "compress"])
def test_an_unreadable_answer_is_blocked_and_counts_its_largest_possible_cost(
    alice: Agent, provider: StreamingProvider, coding: str
) -> None:
    provider.answer_with = packed(json.dumps({"key": alice.key}).encode(), coding)
    answer = alice.chat(max_tokens=300)
    assert (answer.status, answer.headers.get("content-encoding")) == (502, None)
    settled = alice.settled()
    assert (settled["output"], settled["estimated"]) == (300, 1)


def test_a_compressed_error_passes_with_the_key_redacted(alice: Agent, provider: StreamingProvider) -> None:
    said = {"error": {"message": f"Incorrect API key provided: {alice.key}"}}
    provider.answer_with = Answer(401, gzip.compress(json.dumps(said).encode()), {"Content-Encoding": "gzip"})
    answer = alice.chat()
    assert (answer.status, "Incorrect API key provided" in answer.body.decode()) == (401, True)
    assert "CANARY" not in answer.body.decode()


LONG = gzip.compress(random.Random(11).randbytes(50_000).hex().encode())


@pytest.mark.parametrize(
    "body",
    [b"no gzip", gzip.compress(bytes(100_000))[:-40], LONG[:-20_000], LONG[:-1], LONG + LONG[:-1]],
    ids=["another format", "cut off", "cut off late", "without its last byte", "without the last byte of the second"],
)
def test_an_answer_with_a_wrong_content_encoding_is_cut_and_counted(
    alice: Agent, provider: StreamingProvider, body: bytes
) -> None:
    provider.answer_with = Answer(200, body, {"Content-Type": "application/json", "Content-Encoding": "gzip"})
    try:
        status = alice.chat(max_tokens=300).status
    except (http.client.IncompleteRead, ConnectionError):
        status = 0  # the connection was closed
    assert status in (0, 502)
    assert alice.settled()["output"] == 300


def test_a_highly_compressed_answer_passes_at_the_speed_of_its_reader(
    alice: Agent, provider: StreamingProvider
) -> None:
    provider.answer_with = packed(bytes(4 << 20), kind="audio/mpeg")
    answer = alice.chat(path="audio/speech", input="hello", voice="a")
    assert (answer.status, len(answer.body)) == (200, 4 << 20)


def test_several_compressed_members_and_an_empty_body_are_complete(alice: Agent, provider: StreamingProvider) -> None:
    whole = json.dumps(DOCUMENT).encode()
    for body in (gzip.compress(whole[:9]) + gzip.compress(whole[9:]), b""):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        provider.answer_with = Answer(200, body, headers)
        assert alice.chat().body == (whole if body else b"")
