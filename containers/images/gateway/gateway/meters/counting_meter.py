"""Counts the output of an answer as it arrives."""

import re

from gateway.meters.events import find_error
from gateway.meters.hidden_output import HiddenReasoning, texts_in
from gateway.meters.meter import Meter

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


class CountingMeter(Meter):
    """Counts how many tokens have certainly and how many have probably arrived."""

    pieces = 0
    size = 0
    """The size of all texts in bytes."""
    _characters = 0
    _words_begun = 0
    _words_ended = 0
    _signs = 0
    """The number of words that began within an event, of words that ended within one, and of matches of `_SIGN`."""
    _events_of_signs = 0
    _unknown_pieces = 0
    """The number of pieces that came in events of unknown form."""
    has_failed = False
    """Whether the provider has reported an error instead of an answer, or of its rest."""
    _uncounted_size = 0
    _least_tokens = 0
    """The result of the last count of words."""
    _is_outdated = False
    """Whether text arrived after the reported usage."""

    def __init__(self, *, may_reason: bool) -> None:
        self._uncounted: list[str] = []
        self._hidden_reasoning = HiddenReasoning() if may_reason else None

    @property
    def has_content(self) -> bool:
        return self.pieces > 0

    @property
    def has_known_content(self) -> bool:
        """Whether part of the output came in a known form."""
        return self.pieces > self._unknown_pieces

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

    def note_unreadable(self, size: int) -> None:
        """Notes output in characters whose tokens cannot be counted, such as audio."""
        if size:
            self._is_outdated = True
            self.pieces += 1
            self.size += size

    def note_unknown(self, part: object) -> bool:
        """Notes part of an event whose form is unknown. Its texts may be the answer. Returns whether there are any."""
        if isinstance(part, dict) and (error := find_error(part)):
            self.error, self.has_failed = error, True
            return False
        if texts := texts_in(part):
            self._unknown_pieces += 1
            self.note_text("\0".join(texts))
        return bool(texts)

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
