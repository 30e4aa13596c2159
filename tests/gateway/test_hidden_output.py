"""If a stream breaks off before it reports its usage, output other than text counts too."""

import json
from typing import Any

import pytest
from gateway.entries.entry import Entry, Kind, Provider
from gateway.meters import hidden_output
from gateway.meters.anthropic import MessagesMeter
from gateway.meters.event_meter import EventMeter
from gateway.meters.openai import ChatMeter, ResponsesMeter
from gateway.meters.usage import Usage
from gateway.providers.reading import read_call
from gateway.providers.reasoning import may_reason
from gateway.providers.time_slices import run_at_once
from gateway.rules.paths import Call

from tests.gateway.test_meters import stream

pytestmark = pytest.mark.one_database

BOUND = Usage(100, 5000)
DATA = "QUJD" * 1000

CHATS: dict[str, dict[str, Any]] = {
    "a sound": {"audio": {"id": "audio_1", "data": DATA}},
    "what is said in it": {"audio": {"transcript": "word " * 800}},
    "a picture": {"images": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}]},
    "thoughts that are encrypted": {
        "content": "",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": DATA}],
    },
    "thoughts in parts": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": DATA}]}]},
    "what is given to a function": {"function_call": {"name": "f", "arguments": DATA}},
    "what is given to a tool of another kind": {"tool_calls": [{"type": "custom", "custom": {"input": DATA}}]},
}
RESPONSES = {
    "a sound": {"type": "response.audio.delta", "delta": DATA},
    "a picture": {"type": "response.image_generation_call.partial_image", "partial_image_b64": DATA},
    "what is given to a function": {"type": "response.function_call_arguments.delta", "delta": DATA},
}
MESSAGES: dict[str, dict[str, Any]] = {
    "what is given to a tool": {"type": "content_block_delta", "delta": {"type": "a", "partial_json": DATA}},
    "a signature, in which thoughts are": {"type": "content_block_delta", "delta": {"type": "a", "signature": DATA}},
    "thoughts that are encrypted": {
        "type": "content_block_start",
        "content_block": {"type": "redacted_thinking", "data": DATA},
    },
}
CASES: list[Any] = [
    *(pytest.param(ChatMeter, {"choices": [{"delta": delta}]}, id=f"chat-{name}") for name, delta in CHATS.items()),
    *(pytest.param(ResponsesMeter, event, id=f"responses-{name}") for name, event in RESPONSES.items()),
    *(pytest.param(MessagesMeter, event, id=f"messages-{name}") for name, event in MESSAGES.items()),
]


@pytest.mark.parametrize(("make", "event"), CASES)
def test_parts_other_than_text_count_too(make: type[EventMeter], event: dict[str, Any]) -> None:
    meter = make()
    meter.feed(stream(event))
    assert 1000 <= meter.estimate(BOUND).output <= 1100
    assert meter.least_tokens() <= 1000


def test_text_that_appears_in_two_places_counts_once() -> None:
    meter = ChatMeter()
    thought = {"reasoning": "four", "reasoning_details": [{"type": "reasoning.text", "text": "four"}]}
    for _ in range(100):
        meter.feed(stream({"choices": [{"delta": {"role": "assistant", "content": "", **thought}}]}))
    plain = ChatMeter()
    for _ in range(100):
        plain.feed(stream({"choices": [{"delta": {"reasoning": "four", "content": ""}}]}))
    assert meter.likely_tokens() == plain.likely_tokens() == 100


@pytest.mark.parametrize("make", [ChatMeter, ResponsesMeter, MessagesMeter])
def test_hidden_thinking_counts_by_its_duration(monkeypatch: pytest.MonkeyPatch, make: type[EventMeter]) -> None:
    now = [100.0]
    monkeypatch.setattr("gateway.meters.hidden_output.time.monotonic", lambda: now[0])
    meters = [make(may_reason=True), make()]
    now[0] += 10
    event = b"data: " + json.dumps({
        "type": "content_block_delta" if make is MessagesMeter else "a", "choices": [{"delta": {"content": "a"}}],
        "delta": {"type": "text_delta", "text": "a"} if make is MessagesMeter else "a",
    }).encode() + b"\n\n"  # fmt: skip
    for meter in meters:
        meter.feed(event)
    now[0] += 0.5
    assert [meter.estimate(BOUND).output for meter in meters] == [10 * hidden_output.REASONING_TOKENS_PER_SECOND + 1, 1]
    now[0] += 1000
    assert meters[0].estimate(BOUND).output == BOUND.output


@pytest.mark.parametrize(
    ("document", "reasons"),
    [
        ({"model": "gpt-4.1"}, False),
        ({"model": "model-a"}, True),
        ({"model": "o3-mini"}, True),
        ({"model": "openai/gpt-5.4-mini"}, True),
        ({"model": "a", "models": ["google/gemini-3-pro"]}, True),
        ({"model": "gpt-5.4", "reasoning_effort": "none"}, False),
        ({"model": "a", "reasoning": {"effort": "high"}}, True),
        ({"model": "claude-opus-4-8"}, True),
        ({"model": "claude-opus-4-8", "thinking": {"type": "adaptive"}}, True),
        ({"model": "gpt-5.4", "reasoning_effort": None}, True),
        ({"model": "gpt-5.4", "reasoning": None}, True),
        ({"model": "gpt-4o", "reasoning": {"effort": None}}, False),
        ({"model": "gpt-4o", "models": ["gpt-4o-mini", "gpt-5"]}, True),
        ({"model": "gpt-4o", "preset": "mine"}, True),
        ({"model": "deepseek-r1-distill-llama-70b"}, True),
        ({"model": "mistralai/magistral-medium"}, True),
        ({"model": "claude-3.7-sonnet:thinking"}, True),
        ({"model": "claude-3-7-sonnet", "thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
        *(({"model": name}, True) for name in ("gemma-4-27b", "gpt-40", "a-model-of-tomorrow")),
    ],
)
def test_models_that_may_think_silently(document: dict[str, Any], reasons: bool) -> None:
    assert may_reason(document) == reasons


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o", "openai/gpt-4.1-mini-2025-04-14", "gpt-3.5-turbo", "chatgpt-4o-latest", "claude-3-5-haiku-latest",
        "anthropic/claude-3.5-sonnet", "claude-2.1", "meta-llama/llama-3.3-70b-instruct:free", "llama3.2:3b",
        "us.meta.llama3-3-70b-instruct-v1:0", "mistral-large-latest", "mistralai/mixtral-8x7b", "open-mistral-nemo",
        "models/gemini-2.0-flash", "gemini-1.5-pro", "gemma3:27b", "qwen2.5-coder", "deepseek-chat", "grok-2",
        "x-ai/grok-4-fast-non-reasoning",
    ],
)  # fmt: skip
def test_models_that_never_think(model: str) -> None:
    assert not any(may_reason({"model": model} | extra) for extra in ({}, {"reasoning_effort": "none"}))


OFF: dict[str, dict[str, Any]] = {
    "effort": {"reasoning_effort": "none"},
    "reasoning": {"reasoning": {"effort": "none"}},
    "enabled": {"reasoning": {"enabled": False}},
    "thinking": {"thinking": {"type": "disabled"}},
    "false": {"thinking": False, "reasoning": False},
}


@pytest.mark.parametrize(
    ("call", "kind", "obeyed"),
    [
        (Call.CHAT, Kind.OPENAI, {"effort"}),
        (Call.CHAT, Kind.COMPATIBLE, {"effort"}),
        (Call.CHAT, Kind.OPENROUTER, {"effort", "reasoning", "enabled"}),
        (Call.CHAT, Kind.ANTHROPIC, {"thinking"}),
        (Call.MESSAGES, Kind.OPENROUTER, {"thinking"}),
        (Call.RESPONSES, Kind.OPENAI, {"reasoning", "enabled"}),
    ],
)
def test_models_with_thinking_turned_off(call: Call, kind: Kind, obeyed: set[str]) -> None:
    provider = Provider("", "", kind, "")
    for name, said in OFF.items():
        body = json.dumps({"model": "gpt-5.4", "messages": [], **said}).encode()
        parsed = run_at_once(read_call(call, Entry("p", provider=provider), "application/json", body))
        assert parsed.may_reason == (name not in obeyed), name
        for model in ("openai/o3", "gpt-5-mini", "gemini-2.5-pro", "gemini-flash-latest", "codex-mini-latest",
                      "openrouter/auto", "@preset/a", "x-ai/grok-4"):  # fmt: skip
            assert may_reason({"model": model, **said}, call, kind), model
