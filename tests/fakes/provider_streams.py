"""How OpenAI, OpenRouter and Anthropic stream an answer."""

import json
import time
from collections.abc import Iterator
from typing import Any

from tests.fakes.provider_answers import Asked

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}


def stream(asked: Asked, pieces: Iterator[str]) -> Iterator[bytes]:
    return _anthropic(asked, pieces) if asked.vendor == "anthropic" else _openai(asked, pieces)


def _openai(asked: Asked, pieces: Iterator[str]) -> Iterator[bytes]:
    facts = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": int(time.time()), "model": asked.model}
    if asked.vendor == "openrouter":
        yield b": OPENROUTER PROCESSING\n\n"

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _data(facts | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces:
        yield chunk({"content": piece})
    yield chunk({}, "stop")
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        yield _data(facts | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _anthropic(asked: Asked, pieces: Iterator[str]) -> Iterator[bytes]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
    }
    yield _event({"type": "message_start", "message": message | {"usage": {"input_tokens": 1, "output_tokens": 0}}})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    yield _event({"type": "ping"})
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _event({"type": "content_block_stop", "index": 0})
    yield _event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}})
    yield _event({"type": "message_stop"})


def stream_calls(asked: Asked, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[bytes]:
    """Streams calls of tools, with their arguments in pieces."""
    number = len(asked.messages)
    for place, (name, arguments) in enumerate(calls):
        written = json.dumps(arguments)
        halves = (written[: len(written) // 2], written[len(written) // 2 :])
        if asked.vendor == "anthropic":
            block = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": {}}
            yield _event({"type": "content_block_start", "index": place, "content_block": block})
            for half in halves:
                delta = {"type": "input_json_delta", "partial_json": half}
                yield _event({"type": "content_block_delta", "index": place, "delta": delta})
            continue
        facts = {"id": f"call_{number}_{place}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield _chunk({"tool_calls": [facts | {"index": place}]})
        for half in halves:
            yield _chunk({"tool_calls": [{"index": place, "function": {"arguments": half}}]})
    yield _event({"type": "message_stop"}) if asked.vendor == "anthropic" else _chunk({}, "tool_calls")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _data(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _event(document: dict[str, Any]) -> bytes:
    return f"event: {document['type']}\n".encode() + _data(document)
