"""A meter sees the pieces of an answer before they are passed on."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from gateway.meters.events import Cutter, read_event
from gateway.meters.usage import Usage

BYTES_OF_A_TOKEN = 4
"""Of English text, on an average (OpenAI, "What are tokens and how to count them?")."""

LEAST_CHARACTERS, MOST_CHARACTERS = 2, 8
"""Of a token, on an average, in whatever language. Some servers send single characters."""


def read_model(document: dict[str, Any]) -> str:
    """The model that an answer or an event of it names; empty where it names none."""
    if isinstance(named := document.get("model"), str):
        return named
    for name in ("response", "message"):
        if isinstance(holder := document.get(name), dict) and isinstance(named := holder.get("model"), str):
            return named
    return ""


class Meter(ABC):
    usage: Usage | None = None
    """What the provider has said, once it has."""
    model: str = ""
    """The model that has answered, as far as the provider has said it."""

    @abstractmethod
    def see(self, piece: bytes) -> bytes:
        """Takes a piece of the answer, and returns what of it may be passed on now."""

    def finish(self) -> bytes:
        """What is left to pass on at the end of the answer."""
        return b""

    def final(self, bound: Usage) -> Usage:
        """What an answer counts that has come to its end."""
        return self.usage or self.estimate(bound)

    def estimate(self, bound: Usage) -> Usage:
        """What an answer counts whose usage nobody has said: all that it can have cost, which is `bound`."""
        return replace(bound, is_estimated=True)

    def written(self) -> int:
        """Tokens that have come, beyond doubt."""
        return 0


class EventMeter(Meter):
    """Of a stream that is broken off, what has come says how much was written."""

    pieces = 0
    size = 0
    _events = 0
    _characters = 0
    _is_old = False
    """Whether something was written after the usage was told."""

    def __init__(self, *, hides: bool = False) -> None:
        """`hides`: the event that only tells the usage is not passed on, as the agent has not asked for it."""
        self._cutter = Cutter()
        self._hides = hides

    def see(self, piece: bytes) -> bytes:
        events = self._cutter.cut(piece)
        kept = [event for event in events if not self._is_hidden(event)]
        return b"".join(kept) if self._hides else piece

    def finish(self) -> bytes:
        rest = self._cutter.take_rest()
        hidden = self._is_hidden(rest)
        return rest if self._hides and not hidden else b""

    def final(self, bound: Usage) -> Usage:
        return self.estimate(bound) if self._is_old else super().final(bound)

    def _is_hidden(self, event: bytes) -> bool:
        document = read_event(event)
        if not document:
            return False
        self.model = read_model(document) or self.model
        before = self._characters
        is_only_usage = self.read(document)
        self._events += self._characters > before
        return is_only_usage and self._hides

    def written(self) -> int:
        """Most providers send an event for each token, and some one for several, which have few characters then."""
        return max(min(self._events, self._characters // LEAST_CHARACTERS), self._characters // MOST_CHARACTERS)

    def estimate(self, bound: Usage) -> Usage:
        if self._cutter.is_lost:
            return super().estimate(bound)
        told = self.usage or Usage()
        output = max(told.output, self.pieces, -(-self.size // BYTES_OF_A_TOKEN))
        if self.written() <= bound.output:  # what comes in small pieces is not more than was asked for
            output = max(told.output, min(output, bound.output))
        return Usage(told.input or bound.input, output, told.cached, told.money, is_estimated=True, extra=told.extra)

    @abstractmethod
    def read(self, document: dict[str, Any]) -> bool:
        """Reads an event. Returns whether it tells the usage and nothing else."""

    def note_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage, self._is_old = usage, False

    def note_text(self, text: object) -> None:
        if isinstance(text, str) and text:
            self._is_old = True
            self.pieces += 1
            self._characters += len(text)
            self.size += len(text) if text.isascii() else len(text.encode(errors="replace"))
