"""Reads what an agent asks of its provider, and refuses what its entry does not allow."""

from gateway.entries.entry import Entry, Kind
from gateway.meters.usage import AUDIO_TOKENS_PER_SECOND
from gateway.providers.asked import Asked, read_asked, read_name
from gateway.providers.documents import IN_ONE_GO, read_json
from gateway.providers.fees import check_fees, check_prices, may_have_fees
from gateway.providers.long_texts import take_out
from gateway.providers.slices import Slices
from gateway.providers.sounds import read_model
from gateway.providers.spelling import check_spelling
from gateway.providers.thoughts import least_of, may_think
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

_DETOURS = frozenset({
    "api_base", "api_key", "base_url", "content_policy_fallbacks", "context_window_fallback_dict",
    "context_window_fallbacks", "custom_llm_provider", "extra_body", "extra_headers", "extra_query", "headers",
    "model_list", "user_config",
})  # fmt: skip
"""Names by which LiteLLM, as a server, takes another model, length, server or key than the ones that were looked at."""
MOST_OTHERS = 100
"""Models that may answer in the place of the first one. OpenRouter takes a few."""
SECOND = 750
"""Bytes that a second has at the least: 6 kbit/s, the least for which Opus is made (RFC 6716). Of pure silence more
may fit in."""


def read_call(call: Call, entry: Entry, content_type: str, body: bytes) -> Slices[Asked]:
    """Raises RefusedError."""
    if call is Call.TRANSCRIPTION:
        return _read_form(entry, content_type, body)
    short, texts = yield from take_out(body)
    document = yield from read_json(short)
    check_spelling(document)
    if found := _DETOURS & document.keys():
        raise RefusedError(Why.BAD, f"{min(found)} is no option of a request, and the gateway does not pass it on.")
    asked = yield from read_asked(call, document, len(body), entry.limits, texts)
    asked.is_large = len(short) > IN_ONE_GO
    _check_model(entry, asked.model)
    asked.others = (
        *_read_others(document.get("models"), "models"),
        *_read_others(document.get("fallbacks"), "fallbacks"),
        *_read_preset(document.get("preset")),
    )
    for other in asked.others:
        _check_model(entry, other)
    kind = entry.provider.kind if entry.provider else Kind.COMPATIBLE
    asked.may_think, asked.thoughts = may_think(document, call, kind), least_of(document)
    if (yield from may_have_fees(document)):
        check_fees(entry)
    check_prices(entry, (asked.model, *asked.others))
    return asked


def _read_others(others: object, name: str) -> list[str]:
    """Models of which one is taken where the first one is busy: by OpenRouter (`models`), Anthropic or LiteLLM."""
    if others is None:
        return []
    if not isinstance(others, list) or len(others) > MOST_OTHERS:
        raise RefusedError(Why.BAD, f"{name} must be a list of up to {MOST_OTHERS} names.")
    # Beside the name nothing: it could say how long the answer may be.
    return [
        read_name(each["model"] if isinstance(each, dict) and each.keys() == {"model"} else each) for each in others
    ]


def _read_preset(preset: object) -> list[str]:
    """What an account at OpenRouter has kept under a name, a model among it. As a model it is called so."""
    return [] if preset is None else [f"@preset/{read_name(preset)}"]


def _read_form(entry: Entry, content_type: str, body: bytes) -> Asked:
    """A form passes as it came. It counts as the longest sound that it can hold."""
    model = read_model(content_type, body)
    if model is None:
        raise RefusedError(Why.BAD, "The form must name one model.")
    read_name(model)
    _check_model(entry, model)
    check_prices(entry, (model,))
    count = max(entry.limits.media_tokens, AUDIO_TOKENS_PER_SECOND * -(-len(body) // SECOND))
    return Asked(Call.TRANSCRIPTION, {}, model, count, output=0, choices=1, is_stream=False, body=body)


def _check_model(entry: Entry, model: str) -> None:
    if entry.models is not None and model not in entry.models:
        raise RefusedError(Why.NOT_FOUND, "This agent may not use this model.")
