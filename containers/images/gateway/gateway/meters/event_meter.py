"""Reads answers that are streams of events, and estimates what the provider does not report."""

from abc import abstractmethod
from typing import Any

from gateway.meters.counting_meter import BYTES_PER_TOKEN, TEXTS_PER_COUNT, CountingMeter
from gateway.meters.events import (
    EventSplitter,
    find_error,
    may_report_usage,
    read_event,
    read_model,
    read_only_event,
    read_other_data,
)
from gateway.meters.usage import Usage


class EventMeter(CountingMeter):
    """Reads a stream of events. If it breaks off, estimates the written tokens from the events that arrived."""

    def __init__(self, *, hide_usage: bool = False, has_length: bool = True, may_reason: bool = False) -> None:
        """Sets the properties of the call.

        - `hide_usage`: do not pass on the event that only reports the usage, because the agent has not requested it.
        - `has_length`: the call can limit the length of its answer. Otherwise the reservation bounds the estimate.
        - `may_reason`: the model may reason without showing it.
        """
        super().__init__(may_reason=may_reason)
        self._splitter = EventSplitter()
        self._hide_usage = hide_usage
        self._has_length = has_length

    def feed(self, piece: bytes) -> bytes:
        if not self._splitter.pending_size and (document := read_only_event(piece)) is not None:
            return b"" if self._note(document) and self._hide_usage else piece
        events = self._splitter.split(piece)
        passed = [event for event in events if not self._is_hidden(event, is_whole=True)]
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

    def _is_hidden(self, event: bytes, *, is_whole: bool = False) -> bool:
        document = read_only_event(event) or read_event(event)
        if not document and is_whole and not self._splitter.has_dropped:
            document = {"data": read_other_data(event)}
        return bool(document) and self._note(document) and self._hide_usage

    def _note(self, document: dict[str, Any]) -> bool:
        """Returns whether the event reports the usage and nothing else."""
        self.model = read_model(document) or self.model
        self.error = find_error(document) or self.error
        before = self._signs
        is_only_usage = self.read(document)
        self._events_of_signs += self._signs > before
        if len(self._uncounted) >= TEXTS_PER_COUNT:
            self._count_words()
        return is_only_usage

    def estimate(self, bound: Usage) -> Usage:
        """Returns an estimate from what has arrived. If its form is unknown, at least the reservation counts."""
        hidden = self._hidden_reasoning.tokens() if self._hidden_reasoning else 0
        output = self.likely_tokens() + hidden + self._splitter.pending_size // BYTES_PER_TOKEN
        if not self._has_length or self.least_tokens() <= bound.output:  # many small pieces do not prove a long answer
            output = min(output, bound.output)
        if self._splitter.has_dropped or (self.has_content and not self.has_known_content):
            output = max(output, bound.output)
        return self._completed(bound, output=output)

    def estimate_complete(self, bound: Usage) -> Usage:
        """Without anything that could be read and without an error, the answer may have any form and length."""
        return self.estimate(bound) if self.has_content or self.has_failed else super().estimate(bound)

    @abstractmethod
    def read(self, document: dict[str, Any]) -> bool:
        """Reads an event. Returns whether it reports the usage and nothing else."""

    def note_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage, self._is_outdated = usage, False
