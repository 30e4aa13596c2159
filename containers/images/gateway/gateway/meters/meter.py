"""A meter sees the pieces of an answer before they are passed on."""

import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from gateway.meters.events import Cutter, read_event, read_model, read_only_event
from gateway.meters.unread import Silence
from gateway.meters.usage import Usage

BYTES_OF_A_TOKEN = 4
"""Of English text, on an average (OpenAI, "What are tokens and how to count them?")."""

_BEGIN, _END = re.compile(r"\s\w"), re.compile(r"\w\s")
"""Of a word. A token may be as long as a word, and a run of blanks, dashes or anything else one token, but none of the
vocabularies that are named below has one in which a word ends and the next one begins."""
_SIGN = re.compile(r"([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])(?!\1)")
"""Of what is written without blanks (Chinese, Japanese, Thai) or in syllables (Korean). A run of one counts once."""
SIGNS_OF_A_TOKEN = 2
"""At the most, on an average."""
COUNTED_AT_A_TIME = 64
"""Texts of events: to look for the words of each takes twice as long."""
CHARACTERS_OF_A_TOKEN = 128
"""At the most, whatever is written: the longest tokens of OpenAI's vocabularies (cl100k, o200k), and of those of
DeepSeek, Qwen and Mistral, are runs of 128 blanks or dashes. Of what has no words (JSON, emoji, one letter after the
other) nothing else is beyond doubt."""
CHARACTERS_OF_CLAUDE = 1024
"""The same, of the last vocabulary that Anthropic has shown. No other token of it has more than 128 but such runs."""


class Meter(ABC):
    usage: Usage | None = None
    """What the provider has said, once it has."""
    unfinished = 0
    """Bytes at the end of what was returned last that are no whole event."""
    model: str = ""
    """The model that has answered, as far as the provider has said it."""

    @abstractmethod
    def see(self, piece: bytes) -> bytes:
        """Takes a piece of the answer, and returns what of it may be passed on now."""

    def finish(self) -> bytes:
        """What is left to pass on at the end of the answer."""
        return b""

    def final(self, bound: Usage) -> Usage:
        """What an answer counts that has come to its end. Some servers always say nothing but zeros."""
        return self.usage if self.usage and (self.usage.tokens or self.usage.money) else self.estimate(bound)

    def estimate(self, bound: Usage) -> Usage:
        """What an answer counts whose usage nobody has said: all that it can have cost, which is `bound`."""
        return replace(bound, is_estimated=True)

    def written(self) -> int:
        """Tokens that have come, beyond doubt."""
        return 0

    def has_written(self, more_than: int) -> bool:
        return self.written() > more_than

    def likely(self) -> int:
        """Tokens that have come, as far as one can guess, and rather too many: what an estimate counts."""
        return 0


class EventMeter(Meter):
    """Of a stream that is broken off, what has come says how much was written."""

    pieces = 0
    size = 0
    """In bytes, of all texts."""
    _characters = 0
    _begun = 0
    _ended = 0
    _signs = 0
    """Words that have begun and that have ended within an event, and signs that are no letters."""
    _events_of_signs = 0
    _uncounted_size = 0
    _written = 0
    """As of when words were counted last."""
    _is_old = False
    """Whether something was written after the usage was told."""

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
        """Returns whether it tells the usage and nothing else."""
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
        """Reads an event. Returns whether it tells the usage and nothing else."""

    def note_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage, self._is_old = usage, False

    def note_unread(self, size: int) -> None:
        """So many characters of which nobody can tell how many tokens they are: a sound, say."""
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
