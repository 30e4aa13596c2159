"""Parses an agent's call to its provider, and refuses what the agent's entry does not allow."""

from gateway.entries.entry import Entry, Kind
from gateway.meters.usage import AUDIO_TOKENS_PER_SECOND
from gateway.providers.audio_forms import read_form
from gateway.providers.extracted_texts import extract_texts
from gateway.providers.fees import check_fees, check_prices, may_have_fees
from gateway.providers.json_documents import MAX_AT_ONCE, read_json
from gateway.providers.model_choice import check_all_models, check_model, check_redirection, read_fallbacks
from gateway.providers.parsed_call import ParsedCall, parse_options, read_model_name
from gateway.providers.reasoning import may_reason, reasoning_budget
from gateway.providers.spelling import check_spelling
from gateway.providers.time_slices import Slices
from gateway.rules.paths import Call

_FOR_DOCUMENTS = frozenset({"fallbacks", "models", "preset"})
"""Options that name further models, and that no server reads in a form."""
BYTES_PER_SECOND = 750
"""The fewest bytes per second of audio: 6 kbit/s, the lowest rate of Opus (RFC 6716). Only silence needs less."""


def read_call(call: Call, entry: Entry, content_type: str, body: bytes) -> Slices[ParsedCall]:
    """Returns the parsed call. Raises RefusedError if it is invalid or not allowed."""
    if call is Call.TRANSCRIPTION:
        return _read_form(entry, content_type, body)
    short, texts = yield from extract_texts(body)
    document = yield from read_json(short)
    check_spelling(document)
    check_redirection(document)
    # The names come first, because what follows compares each with patterns.
    check_model(entry, read_model_name(document.get("model")))
    fallbacks = read_fallbacks(entry, document)
    yield from check_all_models(entry, document)
    parsed = yield from parse_options(call, document, len(body), entry.limits, texts)
    parsed.is_large, parsed.fallbacks = len(short) > MAX_AT_ONCE, fallbacks
    if call is Call.COUNT:
        return parsed
    kind = entry.provider.kind if entry.provider else Kind.COMPATIBLE
    parsed.may_reason, parsed.reasoning_tokens = may_reason(document, call, kind), reasoning_budget(document)
    if (yield from may_have_fees(document)):
        check_fees(entry)
    check_prices(entry, (parsed.model, *parsed.fallbacks))
    return parsed


def _read_form(entry: Entry, content_type: str, body: bytes) -> ParsedCall:
    """Reads a form, which is passed on unchanged. It counts as the longest audio that it can contain."""
    form = read_form(content_type, body)
    check_redirection(dict.fromkeys(form.names), also=_FOR_DOCUMENTS)
    model = read_model_name(form.model)
    check_model(entry, model)
    check_prices(entry, (model,))
    count = max(entry.limits.media_tokens, AUDIO_TOKENS_PER_SECOND * -(-len(body) // BYTES_PER_SECOND))
    count += entry.limits.unseen_tokens if form.adds_hidden_input else 0
    return ParsedCall(Call.TRANSCRIPTION, {}, model, count, output=0, choices=1, is_stream=False, body=body)
