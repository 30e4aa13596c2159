"""The usage in the answers of Anthropic: its beginning is in `message_start`, its end in `message_delta`."""

from dataclasses import replace
from typing import Any

from gateway.meters.meter import EventMeter
from gateway.meters.usage import Usage, whole


def read_anthropic_usage(document: object, before: Usage | None = None) -> Usage | None:
    """The usage of a message. Counts are totals, so that a later one takes the place of an earlier one."""
    if not isinstance(document, dict) or not {"input_tokens", "output_tokens"} & document.keys():
        return None
    usage = before or Usage()
    if "input_tokens" in document:
        cached = whole(document.get("cache_read_input_tokens"))
        given = whole(document["input_tokens"]) + whole(document.get("cache_creation_input_tokens")) + cached
        # message_delta may tell the input once more; nothing that was read becomes unread.
        usage = replace(usage, input=max(given, usage.input), cached=max(cached, usage.cached))
    return replace(usage, output=max(whole(document.get("output_tokens")), usage.output))


class MessagesMeter(EventMeter):
    def __init__(self) -> None:
        super().__init__()
        self._so_far: Usage | None = None

    def read(self, document: dict[str, Any]) -> bool:
        kind = document.get("type")
        if kind == "message_start":
            message = document.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            self._so_far = read_anthropic_usage(usage) or self._so_far
        elif kind == "message_delta":
            self._so_far = self.usage = read_anthropic_usage(document.get("usage"), self._so_far) or self.usage
        elif kind == "content_block_delta" and isinstance(delta := document.get("delta"), dict):
            for name in ("text", "partial_json", "thinking"):
                self.note_text(delta.get(name))
        return False

    def estimate(self, bound: Usage) -> Usage:
        told, self.usage = self.usage, self.usage or self._so_far
        try:
            return super().estimate(bound)
        finally:
            self.usage = told
