"""Providers' streams are read correctly in any pieces, and each error inside a stream is recognised."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.provider_answers import Asked
from tests.fakes.provider_streams import stream


def read_stream(vendor: str, content: bytes, sizes: list[int]) -> Any:
    """Returns the answer from a stream that arrives in pieces of these sizes, repeatedly."""
    from assistant.model.dialects import Completion, dialect_of
    from assistant.model.events import read_events

    from berth_agent.providers import Provider

    async def pieces() -> AsyncIterator[bytes]:
        place = number = 0
        while place < len(content):
            size = sizes[number % len(sizes)]
            yield content[place : place + size]
            place, number = place + size, number + 1

    async def listen() -> Completion:
        completion, dialect = Completion(), dialect_of(Provider(vendor))
        async for event in read_events(pieces()):
            if event is not None:
                dialect.add_event(event, completion)
        return completion

    return asyncio.run(listen())


def sent_by(vendor: str, *pieces: str) -> bytes:
    body = {"stream_options": {"include_usage": True}}
    return b"".join(stream(Asked(vendor, "chat", None, "m", [], None, 0.0, body), iter(pieces)))


@pytest.mark.parametrize("vendor", ["openai", "openrouter", "anthropic"])
@settings(max_examples=15)
@given(words=st.lists(st.text(max_size=20), max_size=5), sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4))
def test_a_stream_is_read_the_same_in_any_pieces(vendor: str, words: list[str], sizes: list[int]) -> None:
    completion = read_stream(vendor, sent_by(vendor, *words), sizes)
    assert (completion.text, completion.tokens_in, completion.tokens_out) == ("".join(words), 1, 1)
    assert completion.is_complete


@pytest.mark.parametrize(
    ("vendor", "error", "code"),
    [
        ("anthropic", {"type": "overloaded_error", "message": "Overloaded"}, "provider_busy"),
        ("anthropic", {"type": "api_error", "message": "Internal server error"}, "provider_down"),
        ("anthropic", {"type": "authentication_error", "message": "invalid x-api-key"}, "provider_key"),
        ("anthropic", {"type": "invalid_request_error", "message": "prompt is too long"}, None),
        ("openai", {"type": "server_error", "code": None, "message": "The server had an error"}, "provider_down"),
        ("openai", {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no"}, "provider_credit"),
        ("openai", {"type": "requests", "code": "rate_limit_exceeded", "message": "slow"}, "provider_busy"),
        ("openrouter", {"code": 402, "message": "Insufficient credits"}, "provider_credit"),
        ("openrouter", {"code": 502, "message": "Provider disconnected"}, "provider_down"),
        ("openai", "just words", "provider_down"),
    ],
)
def test_an_error_inside_a_stream_is_reported_like_its_status(vendor: str, error: Any, code: str | None) -> None:
    from assistant.model.dialects import StatusError

    from berth_agent.providers import explain_refusal

    with pytest.raises(StatusError) as raised:
        read_stream(vendor, b"data: " + json.dumps({"type": "error", "error": error}).encode() + b"\n\n", [7])
    found = explain_refusal(raised.value.status, raised.value.text)
    assert (found and found.code) == code


@pytest.mark.parametrize("odd", ["[]", "1", '{"choices": 3}', '{"choices": [4]}', '{"usage": 5, "type": 6}', "null"])
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_odd_events_are_skipped_or_refused(vendor: str, odd: str) -> None:
    try:
        assert read_stream(vendor, f"data: {odd}\n\n".encode(), [5]).text == ""
    except ValueError:
        assert not odd.startswith("{")
