"""Chooses the meter that reads an answer."""

from collections.abc import Mapping

from gateway.meters.anthropic import MessagesMeter, read_anthropic_usage
from gateway.meters.document_meter import BlindMeter, DocumentMeter
from gateway.meters.meter import Meter
from gateway.meters.openai import ChatMeter, ResponsesMeter, read_openai_usage
from gateway.providers.asked import Asked
from gateway.rules.paths import Call


def choose_meter(asked: Asked, headers: Mapping[str, str]) -> Meter:
    """Decides by the answer's headers, because a provider need not send what was requested."""
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        if asked.call is Call.MESSAGES:
            return MessagesMeter(may_reason=asked.may_think)
        if asked.call is Call.CHAT:
            return ChatMeter(hide_usage=asked.hides_usage, may_reason=asked.may_think)
        return ResponsesMeter(has_length=asked.has_length, may_reason=asked.may_think)
    if kind.endswith("json"):
        return DocumentMeter(read_anthropic_usage if asked.call is Call.MESSAGES else read_openai_usage)
    return BlindMeter()
