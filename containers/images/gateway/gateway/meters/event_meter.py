"""Reads answers that are streams of events, and estimates what the provider does not report."""

import re
from abc import abstractmethod
from typing import Any

from gateway.meters.events import EventSplitter, may_report_usage, read_event, read_model, read_only_event
from gateway.meters.hidden_output import HiddenReasoning
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage

BYTES_PER_TOKEN = 4
"""The average for English text (OpenAI, "What are tokens and how to count them?")."""

_WORD_START, _WORD_END = re.compile(r"\s\w"), re.compile(r"\w\s")
"""The start and the end of a word. A token may be a whole word or a run of blanks, dashes or other characters. But in
the vocabularies named below, no token contains the end of one word and the start of the next."""
_SIGN = re.compile(r"([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])(?!\1)")
"""A character of a script without blanks (Chinese, Japanese, Thai) or of syllables (Korean). A repeated one counts
once."""
BYTES_PER_CERTAIN_TOKEN = 2
"""The least that a token takes which is certain to be one, unless it has an event of its own, which takes more."""
SIGNS_PER_TOKEN = 2
"""The most on average."""
TEXTS_PER_COUNT = 64
"""Texts of events that are counted together, because counting the words of each one separately takes twice as long."""
MAX_CHARACTERS_PER_TOKEN = 128
"""The longest tokens in the vocabularies of OpenAI (cl100k, o200k), DeepSeek, Qwen and Mistral are runs of 128 blanks
or dashes. For text without words (JSON, emoji, single letters) this is the only certain limit."""
MAX_CHARACTERS_PER_CLAUDE_TOKEN = 1024
"""The same for the last vocabulary that Anthropic published. All its other tokens have at most 128 characters."""


class EventMeter(Meter):
    """Reads a stream of events. If it breaks off, estimates the written tokens from the events that arrived."""

    pieces = 0
    size = 0
    """The size of all texts in bytes."""
    _characters = 0
    _words_begun = 0
    _words_ended = 0
    _signs = 0
    """The number of words that began within an event, of words that ended within one, and of matches of `_SIGN`."""
    _events_of_signs = 0
    _uncounted_size = 0
    _least_tokens = 0
    """The result of the last count of words."""
    _is_outdated = False
    """Whether text arrived after the reported usage."""

    def __init__(self, *, hide_usage: bool = False, has_length: bool = True, may_reason: bool = False) -> None:
        """Sets the properties of the call.

        - `hide_usage`: do not pass on the event that only reports the usage, because the agent has not requested it.
        - `has_length`: the call can limit the length of its answer. Otherwise the reservation bounds the estimate.
        - `may_reason`: the model may reason without showing it.
        """
        self._splitter = EventSplitter()
        self._uncounted: list[str] = []
        self._hide_usage = hide_usage
        self._has_length = has_length
        self._hidden_reasoning = HiddenReasoning() if may_reason else None

    def feed(self, piece: bytes) -> bytes:
        if not self._splitter.pending_size and (document := read_only_event(piece)) is not None:
            return b"" if self._note(document) and self._hide_usage else piece
        events = self._splitter.split(piece)
        passed = [event for event in events if not self._is_hidden(event)]
        if self._hide_usage:
            return b"".join(passed)
        self.unfinished = self._splitter.pending_size
        return piece

    def passes_unchanged(self, piece: bytes, /) -> bool:
        return piece.endswith(b"}\n\n") and not (self._hide_usage and may_report_usage(piece))

    @property
    def is_between_events(self) -> bool:
        return not self._splitter.pending_size

    def finish(self) -> bytes:
        rest = self._splitter.take_rest()
        hidden = self._is_hidden(rest)
        return rest if self._hide_usage and not hidden else b""

    def final(self, bound: Usage) -> Usage:
        return self.estimate(bound) if self._is_outdated else super().final(bound)

    def _is_hidden(self, event: bytes) -> bool:
        document = read_only_event(event) or read_event(event)
        return bool(document) and self._note(document) and self._hide_usage

    def _note(self, document: dict[str, Any]) -> bool:
        """Returns whether the event reports the usage and nothing else."""
        self.model = read_model(document) or self.model
        before = self._signs
        is_only_usage = self.read(document)
        self._events_of_signs += self._signs > before
        if len(self._uncounted) >= TEXTS_PER_COUNT:
            self._count_words()
        return is_only_usage

    def exceeds(self, limit: int) -> bool:
        return self._most_certain_tokens() > limit and super().exceeds(limit)

    def bytes_below(self, limit: int, /) -> int:
        return BYTES_PER_CERTAIN_TOKEN * (limit - self._most_certain_tokens())

    def _most_certain_tokens(self) -> int:
        """Returns the most that `least_tokens` can be, without counting words."""
        return self._least_tokens + max((self._uncounted_size + 1) // BYTES_PER_CERTAIN_TOKEN, len(self._uncounted))

    def least_tokens(self) -> int:
        """Counts words, and events with other signs: most providers send one event per token, some one per sign."""
        if self._uncounted:
            self._count_words()
        return self._least_tokens

    def _count_words(self) -> None:
        # Words across two texts do not count, so the separator is neither a word character nor a blank.
        texts = "\0".join(self._uncounted)
        self._uncounted.clear()
        self._uncounted_size = 0
        self._words_begun += len(_WORD_START.findall(texts))
        self._words_ended += len(_WORD_END.findall(texts))
        signs = min(self._events_of_signs, self._signs // SIGNS_PER_TOKEN)
        longest = MAX_CHARACTERS_PER_CLAUDE_TOKEN if "claude" in self.model.lower() else MAX_CHARACTERS_PER_TOKEN
        self._least_tokens = max(self._words_begun, self._words_ended, signs, self._characters // longest)

    def likely_tokens(self) -> int:
        return max(self.pieces, -(-self.size // BYTES_PER_TOKEN), self.least_tokens())

    def estimate(self, bound: Usage) -> Usage:
        if self._splitter.has_dropped:
            return super().estimate(bound)
        hidden = self._hidden_reasoning.tokens() if self._hidden_reasoning else 0
        output = self.likely_tokens() + hidden
        if not self._has_length or self.least_tokens() <= bound.output:  # many small pieces do not prove a long answer
            output = min(output, bound.output)
        return self._completed(bound, output=output)

    @property
    def has_content(self) -> bool:
        return self.pieces > 0

    @abstractmethod
    def read(self, document: dict[str, Any]) -> bool:
        """Reads an event. Returns whether it reports the usage and nothing else."""

    def note_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage, self._is_outdated = usage, False

    def note_unreadable(self, size: int) -> None:
        """Notes output in characters whose tokens cannot be counted, such as audio."""
        if size:
            self._is_outdated = True
            self.pieces += 1
            self.size += size

    def note_text(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._is_outdated = True
            self.pieces += 1
            if self._hidden_reasoning is not None:
                self._hidden_reasoning.end()
            self._characters += len(text)
            self._uncounted_size += len(text)
            self._uncounted.append(text)
            if text.isascii():
                self.size += len(text)
            else:
                self._signs += len(_SIGN.findall(text))
                self.size += len(text.encode(errors="replace"))
