"""Reads the usage in Anthropic's answers: `message_start` has the first part, `message_delta` the rest."""

from dataclasses import replace
from typing import Any

from gateway.meters.event_meter import EventMeter
from gateway.meters.hidden_output import length_of
from gateway.meters.usage import NoCountError, Usage, cache_surcharge, count_in, read_money

_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_TEXTS = ("text", "partial_json", "thinking")
_WITHOUT_ANSWER = ("content_block_stop", "message_stop", "ping")


def read_anthropic_usage(document: object, before: Usage | None = None) -> Usage | None:
    """Returns the usage of a message. Counts are totals, so a later one replaces an earlier one."""
    if not isinstance(document, dict) or not {"input_tokens", "output_tokens"} & document.keys():
        return None
    try:
        return _read(_with_rounds(document), before or Usage(has_output=False))
    except NoCountError:
        return None


def _with_rounds(document: dict[str, Any]) -> dict[str, Any]:
    """Adds up the usage of all rounds. Besides the answer, these can be summaries of a long conversation or advice
    from another model, which cost as well. Anthropic lists them, including the answer, in `iterations`."""
    reported = document.get("iterations")
    rounds = [each for each in reported if isinstance(each, dict)] if isinstance(reported, list) else []
    names = [name for name in _COUNTS if any(name in each for each in rounds)]
    sums = {name: sum(count_in(each, name) or 0 for each in rounds) for name in names}
    return document | {name: max(total, count_in(document, name) or 0) for name, total in sums.items()}


def _read(document: dict[str, Any], usage: Usage) -> Usage:
    input_tokens, output_tokens = count_in(document, "input_tokens"), count_in(document, "output_tokens")
    if input_tokens is not None:
        cached, (written, for_an_hour) = count_in(document, "cache_read_input_tokens") or 0, _written(document)
        # message_delta may repeat the input. Counts that were read are kept.
        usage = replace(
            usage,
            input=max(input_tokens + written + cached, usage.input),
            cached=max(cached, usage.cached),
            extra=max(cache_surcharge(written, for_an_hour), usage.extra),
        )
    if output_tokens is not None:
        usage = replace(usage, output=max(output_tokens, usage.output), has_output=output_tokens >= usage.output)
    money = read_money(document)  # reported by OpenRouter
    return usage if money is None else replace(usage, money=money)


def _written(document: dict[str, Any]) -> tuple[int, int]:
    """Returns the tokens written to a cache, and how many of them it keeps for an hour."""
    parts = document.get("cache_creation")
    parts = parts if isinstance(parts, dict) else {}
    short, long = (count_in(parts, f"ephemeral_{each}_input_tokens") or 0 for each in ("5m", "1h"))
    return max(count_in(document, "cache_creation_input_tokens") or 0, short + long), long


class MessagesMeter(EventMeter):
    def __init__(self, *, may_reason: bool = False) -> None:
        super().__init__(may_reason=may_reason)
        self._so_far: Usage | None = None

    def read(self, document: dict[str, Any]) -> bool:
        kind = document.get("type")
        if kind == "message_start" and isinstance(message := document.get("message"), dict):
            self.note_unknown(message.get("content"))  # usually empty
            if found := read_anthropic_usage(message.get("usage")):
                self._so_far = replace(found, has_output=False)
        elif kind == "message_delta":
            if found := read_anthropic_usage(document.get("usage"), self._so_far):
                self._so_far = found
                self.note_usage(found)
        elif kind == "content_block_delta" and isinstance(delta := document.get("delta"), dict):
            self._note_delta(delta)
        elif kind == "content_block_start" and isinstance(block := document.get("content_block"), dict):
            self._note_block(block)
        elif kind not in _WITHOUT_ANSWER:
            self.note_unknown(document)
        return False

    def _note_block(self, block: dict[str, Any]) -> None:
        """Notes what a block begins with: encrypted reasoning, or all of it. Results of tools are input."""
        if not str(block.get("type")).endswith("_tool_result"):
            self._note_delta(block)

    def _note_delta(self, delta: dict[str, Any]) -> None:
        texts = [text for name in _TEXTS if isinstance(text := delta.get(name), str)]
        for text in texts:
            self.note_text(text)
        if len(delta) > 1 + len(texts):  # besides its type
            self.note_unreadable(length_of(delta, except_for=texts))

    @property
    def reported(self) -> Usage:
        return self.usage or self._so_far or super().reported
