"""Reads the usage in answers of OpenAI and of compatible providers, including OpenRouter."""

from math import ceil
from typing import Any

from gateway.meters.event_meter import EventMeter
from gateway.meters.hidden_output import ENCODED, METADATA, length_of, texts_in
from gateway.meters.usage import (
    AUDIO_TOKENS_PER_SECOND,
    MILLION,
    NoCountError,
    Usage,
    cache_surcharge,
    count_in,
    largest_in,
    read_money,
)

_TEXTS = frozenset({"content", "reasoning", "reasoning_content", "refusal"})
_ENDS = frozenset({"response.completed", "response.done", "response.incomplete", "response.failed"})
_FAMILIES = ("response.", "speech.", "transcript.")
"""How the types of known events begin."""
_MEDIA = ("audio", "delta", "partial_image_b64")
"""Where an event has audio or an image."""


def read_openai_usage(document: object) -> Usage | None:
    """Returns the usage of a chat completion, an embedding or a response; None if it is missing or invalid.

    For audio, providers may report seconds instead of tokens.
    """
    if not isinstance(document, dict):
        return None
    try:
        return _read(document)
    except NoCountError:
        return None


def _read(document: dict[str, Any]) -> Usage | None:
    given = largest_in(document, "input_tokens", "prompt_tokens")
    written = largest_in(document, "output_tokens", "completion_tokens")
    if given is None and written is None:
        return _read_seconds(document) if document.get("type") == "duration" else None
    total, input_tokens = count_in(document, "total_tokens"), given or 0
    # Some providers (xAI) include reasoning only in the total, not in the output. It costs the same.
    output_tokens = max(written or 0, (total or 0) - input_tokens, _output_with_reasoning(document, written or 0))
    has_output = written is not None or (total is not None and total >= input_tokens > 0)
    details = _details(document, "input_tokens_details", "prompt_tokens_details")
    cached, stored = count_in(details, "cached_tokens") or 0, count_in(details, "cache_write_tokens") or 0
    if max(cached, stored) > input_tokens:  # one of these is wrong, so the input is unknown
        input_tokens = cached = stored = 0
    return Usage(
        input_tokens, output_tokens, cached, read_money(document), extra=cache_surcharge(stored), has_output=has_output
    )


def _output_with_reasoning(document: dict[str, Any], output: int) -> int:
    """Returns the output with the reasoning if it certainly does not include it."""
    details = _details(document, "output_tokens_details", "completion_tokens_details")
    reasoning = count_in(details, "reasoning_tokens") or 0
    return output + reasoning if reasoning > output else output


def _details(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((details for name in names if isinstance(details := document.get(name), dict) and details), {})


def _read_seconds(document: dict[str, Any]) -> Usage | None:
    seconds = document.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < MILLION:
        return None
    return Usage(ceil(seconds * AUDIO_TOKENS_PER_SECOND), is_estimated=True)


class ChatMeter(EventMeter):
    """Chat completions: the last event has the usage and no choices."""

    def read(self, document: dict[str, Any]) -> bool:
        choices = document.get("choices")
        if isinstance(choices, list):
            has_answer = bool(choices)
            for choice in choices:
                self._note_choice(choice)
        else:
            has_answer = self.note_unknown(document)
        if (reported := document.get("usage")) is None:
            return False
        usage = read_openai_usage(reported)
        self.note_usage(usage)
        return usage is not None and not has_answer

    def _note_choice(self, choice: Any) -> None:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if not isinstance(delta, dict):
            text = choice.get("text") if isinstance(choice, dict) else None
            if isinstance(text, str):
                self.note_text(text)
            else:
                self.note_unknown(choice)
        elif len(delta) == 1 and isinstance(text := delta.get("content"), str):  # like nearly every event
            self.note_text(text)
        else:
            self._note_delta(delta)
            if not self.has_known_content:  # some providers send the whole message beside an empty delta
                self.note_unknown({name: value for name, value in choice.items() if name != "delta"})

    def _note_delta(self, delta: dict[str, Any]) -> None:
        texts = [text for name, text in delta.items() if name in _TEXTS and isinstance(text, str)]
        for text in dict.fromkeys(texts) if len(texts) > 1 else texts:  # some providers send reasoning under two names
            self.note_text(text)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(arguments := function.get("arguments"), str):
                self.note_text(arguments)
                texts.append(arguments)
        if rest := texts_in(delta).difference(texts):
            # Text in a list and arguments of other kinds of tools; audio, images and encrypted reasoning.
            readable = rest & texts_in(delta, except_in=METADATA | ENCODED)
            self.note_text("\0".join(readable))
            self.note_unreadable(sum(map(len, rest - readable)))


class ResponsesMeter(EventMeter):
    """Responses, transcriptions and speech: events with a type. The last event has the usage."""

    _pieces_at_done = 0

    def read(self, document: dict[str, Any]) -> bool:
        kind = document.get("type")
        if isinstance(kind, str) and kind.endswith((".audio.delta", ".partial_image")):
            self.note_unreadable(length_of([document.get(name) for name in _MEDIA]))
        elif isinstance(delta := document.get("delta"), str):
            self.note_text(delta)
        else:
            self._note_other(kind, document)
        is_end = isinstance(kind, str) and kind in _ENDS
        holder = document.get("response") if is_end else document
        if isinstance(holder, dict):
            self.note_usage(read_openai_usage(holder.get("usage")))
        return False

    def _note_other(self, kind: object, document: dict[str, Any]) -> None:
        if not isinstance(kind, str) or not kind.startswith(_FAMILIES):
            self.note_unknown(document)
        elif kind == "response.failed":
            self.has_failed = True
        elif kind.endswith(".delta"):
            self.note_unknown(document.get("delta"))
        elif kind.endswith(".done"):
            self._note_done([text for name, text in document.items() if isinstance(text, str) and name not in METADATA])

    def _note_done(self, texts: list[str]) -> None:
        """Notes the whole texts of a part, unless it came in deltas before."""
        if texts and self.pieces == self._pieces_at_done:
            self.note_unknown(texts)
        if texts:
            self._pieces_at_done = self.pieces
