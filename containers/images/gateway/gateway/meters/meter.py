"""Meters see the pieces of an answer before they are passed on, and count its usage."""

import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from gateway.meters.events import Cutter, read_event, read_model, read_only_event
from gateway.meters.unread import Silence
from gateway.meters.usage import Usage

BYTES_OF_A_TOKEN = 4
"""The average for English text (OpenAI, "What are tokens and how to count them?")."""

_BEGIN, _END = re.compile(r"\s\w"), re.compile(r"\w\s")
"""Of a word. A token may be as long as a word, and a run of blanks, dashes or anything else one token, but none of the
vocabularies that are named below has one in which a word ends and the next one begins."""
_SIGN = re.compile(r"([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])(?!\1)")
"""Of what is written without blanks (Chinese, Japanese, Thai) or in syllables (Korean). A run of one counts once."""
SIGNS_OF_A_TOKEN = 2
"""At most, on average."""
COUNTED_AT_A_TIME = 64
"""Texts of events that are counted together, because searching each for its words takes twice as long."""
CHARACTERS_OF_A_TOKEN = 128
"""At the most, whatever is written: the longest tokens of OpenAI's vocabularies (cl100k, o200k), and of those of
DeepSeek, Qwen and Mistral, are runs of 128 blanks or dashes. Of what has no words (JSON, emoji, one letter after the
other) nothing else is beyond doubt."""
CHARACTERS_OF_CLAUDE = 1024
"""The same for the last vocabulary that Anthropic has published. All its other tokens have at most 128 characters."""


class Meter(ABC):
    usage: Usage | None = None
    """The usage that the provider has reported, once it has."""
    unfinished = 0
    """Bytes at the end of the last returned piece that are an incomplete event."""
    model: str = ""
    """The model that has answered, as far as the provider has named it."""

    @abstractmethod
    def see(self, piece: bytes) -> bytes:
        """Takes a piece of the answer and returns the part that may be passed on now."""

    def finish(self) -> bytes:
        """Returns the rest to pass on at the end of the answer."""
        return b""

    def final(self, bound: Usage) -> Usage:
        """Returns the usage of a complete answer. Some servers always report only zeros."""
        return self.usage if self.usage and (self.usage.tokens or self.usage.money) else self.estimate(bound)

    def estimate(self, bound: Usage) -> Usage:
        """Returns the usage of an answer without reported usage: the most that it can have cost, which is `bound`."""
        return replace(bound, is_estimated=True)

    def written(self) -> int:
        """Returns how many tokens have certainly arrived."""
        return 0

    def has_written(self, more_than: int) -> bool:
        return self.written() > more_than

    def likely(self) -> int:
        """Returns how many tokens have probably arrived, rather too many than too few. Estimates count this number."""
        return 0


class EventMeter(Meter):
    """For a stream that breaks off, estimates the tokens written from what has arrived."""

    pieces = 0
    size = 0
    """In bytes, over all texts."""
    _characters = 0
    _begun = 0
    _ended = 0
    _signs = 0
    """Words that have begun within an event, words that have ended within one, and signs that are not letters."""
    _events_of_signs = 0
    _uncounted_size = 0
    _written = 0
    """As of the last count of words."""
    _is_old = False
    """Whether text was written after the usage was reported."""

    def __init__(self, *, hides: bool = False, has_length: bool = True, thinks: bool = False) -> None:
        """`hides`: the event that only tells the usage is not passed on, as the agent has not asked for it. `thinks`:
        the model may think, and not show it.

        Where nobody can say how long the answer may be (`has_length`), what is reserved bounds it, input and output.
        """
        self._cutter = Cutter()
        self._uncounted: list[str] = []
        self._hides = hides
        self._has_length = has_length
        self._silence = Silence() if thinks else None

    def see(self, piece: bytes) -> bytes:
        if not self._cutter.kept and (document := read_only_event(piece)) is not None:
            return b"" if self._note(document) and self._hides else piece
        events = self._cutter.cut(piece)
        kept = [event for event in events if not self._is_hidden(event)]
        if self._hides:
            return b"".join(kept)
        self.unfinished = self._cutter.kept
        return piece

    def finish(self) -> bytes:
        rest = self._cutter.take_rest()
        hidden = self._is_hidden(rest)
        return rest if self._hides and not hidden else b""

    def final(self, bound: Usage) -> Usage:
        return self.estimate(bound) if self._is_old else super().final(bound)

    def _is_hidden(self, event: bytes) -> bool:
        document = read_only_event(event) or read_event(event)
        return bool(document) and self._note(document) and self._hides

    def _note(self, document: dict[str, Any]) -> bool:
        """Returns whether the event reports the usage and nothing else."""
        self.model = read_model(document) or self.model
        before = self._signs
        is_only_usage = self.read(document)
        self._events_of_signs += self._signs > before
        if len(self._uncounted) >= COUNTED_AT_A_TIME:
            self._count_words()
        return is_only_usage

    def has_written(self, more_than: int) -> bool:
        """A token that is beyond doubt takes two characters, or a text of its own. So mostly nothing has to be counted
        for this."""
        most = max((self._uncounted_size + 1) // 2, len(self._uncounted))
        return self._written + most > more_than and super().has_written(more_than)

    def written(self) -> int:
        """Words, and events with other signs: most providers send one for each token, and some one for each sign."""
        if self._uncounted:
            self._count_words()
        return self._written

    def _count_words(self) -> None:
        """Those within each text, which is why they are joined by what is neither of a word nor blank."""
        texts = "\0".join(self._uncounted)
        self._uncounted.clear()
        self._uncounted_size = 0
        self._begun += len(_BEGIN.findall(texts))
        self._ended += len(_END.findall(texts))
        signs = min(self._events_of_signs, self._signs // SIGNS_OF_A_TOKEN)
        longest = CHARACTERS_OF_CLAUDE if "claude" in self.model.lower() else CHARACTERS_OF_A_TOKEN
        self._written = max(self._begun, self._ended, signs, self._characters // longest)

    def likely(self) -> int:
        return max(self.pieces, -(-self.size // BYTES_OF_A_TOKEN), self.written())

    def estimate(self, bound: Usage) -> Usage:
        if self._cutter.is_lost:
            return super().estimate(bound)
        told = self.usage or Usage()
        output = max(told.output, self.likely() + (self._silence.tokens() if self._silence else 0))
        if not self._has_length or self.written() <= bound.output:  # small pieces are not more than was asked for
            output = max(told.output, min(output, bound.output))
        return Usage(told.input or bound.input, output, told.cached, told.money, is_estimated=True, extra=told.extra)

    @abstractmethod
    def read(self, document: dict[str, Any]) -> bool:
        """Reads an event. Returns whether it reports the usage and nothing else."""

    def note_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage, self._is_old = usage, False

    def note_unread(self, size: int) -> None:
        """Notes characters whose tokens cannot be counted, such as those of a sound."""
        if size:
            self._is_old = True
            self.pieces += 1
            self.size += size

    def note_text(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._is_old = True
            self.pieces += 1
            if self._silence is not None:
                self._silence.end()
            self._characters += len(text)
            self._uncounted_size += len(text)
            self._uncounted.append(text)
            if text.isascii():
                self.size += len(text)
            else:
                self._signs += len(_SIGN.findall(text))
                self.size += len(text.encode(errors="replace"))
