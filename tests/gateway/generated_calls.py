"""Generates calls with all known options of all providers, and invented ones, in random combinations."""

import json
import random
from collections.abc import Callable
from typing import Any

from gateway.providers.options import FREE_OF_CHARGE

from tests.gateway.junk import VALUES

PATHS = ("chat/completions", "responses", "messages", "embeddings", "audio/speech")
URL = "https://files.example.com/a"
PNG = "data:image/png;base64," + "A" * 3000
PDF = "JVBERi0xLjcK" + "A" * 9000
MODELS = (
    "m", "gpt-4o-mini", "openai/gpt-5.4", "claude-x", "grok-4", "m:nitro", "a:online", "sonar", "x:free", "m,a",
    "acme/new",
)  # fmt: skip
OPTIONS: dict[str, tuple[Any, ...]] = {
    "n": (0, 1, 7, "9", True), "best_of": (1, 3), "n_cmpl": (2, 5),
    "prompt": (["a", "b", "c"], [1, 2], {"id": "p"}, "a"),
    "max_tokens": (0, 1, 50, 3000, "9", 2**40), "max_completion_tokens": (5, 4000), "max_output_tokens": (5, 4000),
    "n_predict": (7, 900), "max_new_tokens": (8, 900), "stream": (False, True), "background": (True, False),
    "service_tier": ("priority", "flex", "auto"), "speed": ("fast", 0.25, 4), "inference_geo": ("us", "global"),
    "prediction": ({"type": "content", "content": "a b c"},),
    "models": (["m"], ["acme/new"], ["a:online"], ["gpt-4o-mini", "m"]),
    "fallbacks": ([{"model": "m"}], ["acme/new"], ["sonar"], [{"model": "m", "max_tokens": 9**9}]), "preset": ("mine",),
    "provider": ({"only": ["dear"]}, {"max_price": {"prompt": 10**6}}, {"zdr": True}), "betas": (["context-1m"],),
    "tools": ([{"type": "function", "function": {"name": "f"}}], [{"type": "web_search"}], [{"googleSearch": {}}]),
    "previous_response_id": ("r",), "conversation": ("c",), "container": ({"skills": []},),
    "mcp_servers": ([{"url": URL}],),
    "context_management": ({"edits": []},), "plugins": ([{"id": "web"}], []), "web_search_options": ({}, {"a": 1}),
    "search_parameters": ({"mode": "on"}, {"mode": "auto"}),
    "enable_search": (True, False), "chat_template": ("{{ a }}",),
    "mm_processor_kwargs": ({"max_pixels": 10**9},), "vl_high_resolution_images": (True,),
    "thinking": ({"type": "enabled", "budget_tokens": 2000}, {"type": "disabled"}),
    "reasoning": ({"max_tokens": 900}, {"effort": "high"}),
    "reasoning_effort": ("high", "none"), "usage": ({"include": False},), "stream_options": ({"include_usage": False},),
    "cache_control": ({"type": "ephemeral", "ttl": "1h"},),
    "system": ([{"type": "text", "text": "a", "cache_control": {}}], "a"),
    "input": ("read this aloud", ["a", "b"], [{"id": "msg_1"}], [{"image": URL}], [{"text": "a"}], [[1, 2]]),
}  # fmt: skip
INVENTED: dict[str, tuple[Any, ...]] = {
    "additional_drop_params": (["max_tokens"],), "data_sources": ([{"type": "azure_search"}],), "rag": (True,),
    "num_candidates": (8,), "num_return_sequences": (8,), "deferred": (True,), "batch_models": (["a", "b"],),
    "fastest_response": (True,), "num_retries": (5,), "hedged_requests": (3,), "prompt_id": ("p",),
    "cache_control_injection_points": ([{"location": "message"}],), "search_options": ({"forced_search": True},),
    "custom_rag_config": ({"a": 1},), "extra_body": ({"n": 5},), "api_base": (URL,), "model_list": (["a"],),
}  # fmt: skip
"""Options of some servers whose effect the gateway does not know."""
PARTS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "a few words"}, {"type": "input_text", "text": "\U0001f600" * 30}, {"text": "a"},
    {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
    {"type": "image_url", "image_url": {"url": URL}}, {"type": "image_url", "image_url": {"url": PNG}},
    {"type": "input_image", "image_url": PNG}, {"image_url": URL}, {"image_url": {"url": URL}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG[22:]}},
    {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]},
    {"type": "input_audio", "input_audio": {"data": "A" * 90_000}}, {"type": "input_audio", "input_audio": URL},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
    {"type": "document", "source": {"type": "url", "url": URL}}, {"type": "document_url", "document_url": URL},
    {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}},
    {"type": "file", "file": {"file_data": URL}},
    {"type": "file", "file": {"file_id": "f"}}, {"type": "input_file", "file_url": URL},
    {"type": "input_file", "file_data": "UEsDBBQA"},
    {"type": "video_url", "video_url": {"url": URL}}, {"video_url": URL}, {"audio_url": URL},
    {"type": "input_video", "url": URL},
    {"type": "of_next_year", "of_next_year": {"url": URL}}, {"type": "tool_result", "content": [{"video": URL}]},
)  # fmt: skip
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "user"}, {"role": "assistant", "reasoning_content": "a b"},
    {"role": "assistant", "audio": {"id": "audio_1"}},
    {"role": "assistant", "images": [{"type": "image_url", "image_url": {"url": PNG}}]},
    {"role": "assistant", "recording": URL},
)  # fmt: skip


def generate(chance: random.Random, path: str) -> dict[str, Any]:
    document: dict[str, Any] = {"model": chance.choice((*MODELS, "m", "m", "m"))}
    holder = "input" if path in ("responses", "embeddings", "audio/speech") else "messages"
    document[holder] = (
        "some words" if path == "audio/speech" else [_message(chance) for _ in range(chance.randint(0, 3))]
    )
    sources: tuple[Callable[[], tuple[str, Any]], ...] = (
        lambda: _choose(chance, OPTIONS), lambda: _choose(chance, OPTIONS), lambda: _choose(chance, INVENTED),
        lambda: (chance.choice(sorted(FREE_OF_CHARGE)), chance.choice(list(VALUES.values()))),
        lambda: (chance.choice(sorted(OPTIONS)), chance.choice(list(VALUES.values()))),
        lambda: ("".join(chance.choices("abcdefgh_", k=7)), chance.choice((1, URL, True, {"a": URL}))),
    )  # fmt: skip
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        name, value = chance.choice(sources)()
        document[name] = value
    return document


def _choose(chance: random.Random, options: dict[str, tuple[Any, ...]]) -> tuple[str, Any]:
    name = chance.choice(sorted(options))
    return name, json.loads(json.dumps(chance.choice(options[name])))


def _message(chance: random.Random) -> dict[str, Any]:
    parts = [chance.choice(PARTS) for _ in range(chance.choice((0, 1, 1, 2)))]
    message = chance.choice(MESSAGES) if chance.random() < 0.2 else MESSAGES[0]
    return {**message, "content": parts or "a few words"}
