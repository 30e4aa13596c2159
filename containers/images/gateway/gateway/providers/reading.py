"""Parses an agent's call to its provider, and refuses what the agent's entry does not allow."""

from collections.abc import Set
from typing import Any

from gateway.entries.entry import Entry, Kind
from gateway.meters.usage import AUDIO_TOKENS_PER_SECOND
from gateway.providers.audio_forms import read_form
from gateway.providers.extracted_texts import extract_texts
from gateway.providers.fees import check_fees, check_prices, may_have_fees
from gateway.providers.json_documents import MAX_AT_ONCE, read_json
from gateway.providers.parsed_call import ParsedCall, parse_options, read_model_name
from gateway.providers.reasoning import may_reason, reasoning_budget
from gateway.providers.spelling import check_spelling
from gateway.providers.time_slices import Slices
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

_REDIRECTING_OPTIONS = frozenset({
    "api_base", "api_key", "base_url", "content_policy_fallbacks", "context_window_fallback_dict",
    "context_window_fallbacks", "custom_llm_provider", "extra_body", "extra_headers", "extra_query", "headers",
    "model_list", "user_config",
})  # fmt: skip
"""Options by which a LiteLLM server would use another model, length, server or key than those that were checked."""
_NAME_FURTHER_MODELS = frozenset({"fallbacks", "models", "preset"})
"""Options of documents that no server reads in a form."""
MAX_FALLBACKS = 100
"""The most models that may answer instead of the first one. OpenRouter accepts a few."""
BYTES_PER_SECOND = 750
"""The fewest bytes per second of audio: 6 kbit/s, the lowest rate of Opus (RFC 6716). Only silence needs less."""


def read_call(call: Call, entry: Entry, content_type: str, body: bytes) -> Slices[ParsedCall]:
    """Returns the parsed call. Raises RefusedError if it is invalid or not allowed."""
    if call is Call.TRANSCRIPTION:
        return _read_form(entry, content_type, body)
    short, texts = yield from extract_texts(body)
    document = yield from read_json(short)
    check_spelling(document)
    _refuse_options(_REDIRECTING_OPTIONS & document.keys())
    # The names come first, because what follows compares each with patterns.
    model, fallbacks = read_model_name(document.get("model")), _read_all_fallbacks(document)
    for name in (model, *fallbacks):
        _check_model(entry, name)
    parsed = yield from parse_options(call, document, len(body), entry.limits, texts)
    parsed.is_large, parsed.fallbacks = len(short) > MAX_AT_ONCE, fallbacks
    kind = entry.provider.kind if entry.provider else Kind.COMPATIBLE
    parsed.may_reason, parsed.reasoning_tokens = may_reason(document, call, kind), reasoning_budget(document)
    if (yield from may_have_fees(document)):
        check_fees(entry)
    check_prices(entry, (parsed.model, *parsed.fallbacks))
    return parsed


def _refuse_options(found: Set[str]) -> None:
    if found:
        raise RefusedError(Why.BAD, f"{min(found)} is no option of a request, and the gateway does not pass it on.")


def _read_all_fallbacks(document: dict[str, Any]) -> tuple[str, ...]:
    return (
        *_read_fallbacks(document.get("models"), "models"),
        *_read_fallbacks(document.get("fallbacks"), "fallbacks"),
        *_read_preset(document.get("preset")),
    )


def _read_fallbacks(fallbacks: object, name: str) -> list[str]:
    """Returns the models that may answer instead of the first one, at OpenRouter (`models`), Anthropic or LiteLLM."""
    if fallbacks is None:
        return []
    if not isinstance(fallbacks, list) or len(fallbacks) > MAX_FALLBACKS:
        raise RefusedError(Why.BAD, f"{name} must be a list of up to {MAX_FALLBACKS} names.")
    # Other options next to the name are refused, because they could raise the limit of the answer.
    return [
        read_model_name(each["model"] if isinstance(each, dict) and each.keys() == {"model"} else each)
        for each in fallbacks
    ]


def _read_preset(preset: object) -> list[str]:
    """Returns the model name that stands for a preset, a configuration stored in an account at OpenRouter."""
    return [] if preset is None else [f"@preset/{read_model_name(preset)}"]


def _read_form(entry: Entry, content_type: str, body: bytes) -> ParsedCall:
    """Reads a form, which is passed on unchanged. It counts as the longest audio that it can contain."""
    form = read_form(content_type, body)
    _refuse_options(form.names & (_REDIRECTING_OPTIONS | _NAME_FURTHER_MODELS))
    model = read_model_name(form.model)
    _check_model(entry, model)
    check_prices(entry, (model,))
    count = max(entry.limits.media_tokens, AUDIO_TOKENS_PER_SECOND * -(-len(body) // BYTES_PER_SECOND))
    count += entry.limits.unseen_tokens if form.adds_hidden_input else 0
    return ParsedCall(Call.TRANSCRIPTION, {}, model, count, output=0, choices=1, is_stream=False, body=body)


def _check_model(entry: Entry, model: str) -> None:
    if entry.models is not None and model not in entry.models:
        raise RefusedError(Why.NOT_FOUND, "This agent may not use this model.")
