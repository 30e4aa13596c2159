"""Chooses the meter that reads an answer."""

from collections.abc import Mapping

from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.document_meter import BlindMeter, DocumentMeter
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.providers.parsed_call import ParsedCall
from gateway.rules.paths import Call


def choose_meter(parsed: ParsedCall, headers: Mapping[str, str]) -> Meter:
    """Returns the meter for an answer with these headers, because a provider may not send the requested format.

    Some servers give a stream another type or none.
    """
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    is_json = kind.endswith("json")
    if kind == "text/event-stream" or (parsed.is_stream and parsed.has_length and not is_json):
        if parsed.call is Call.MESSAGES:
            return MessagesMeter(may_reason=parsed.may_reason)
        if parsed.call is Call.CHAT:
            return ChatMeter(hide_usage=parsed.hide_usage, may_reason=parsed.may_reason)
        return ResponsesMeter(has_length=parsed.has_length, may_reason=parsed.may_reason)
    if is_json:
        return DocumentMeter(read_anthropic_usage if parsed.call is Call.MESSAGES else read_openai_usage)
    return BlindMeter()
