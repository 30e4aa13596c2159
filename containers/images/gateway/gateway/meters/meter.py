"""Meters read the pieces of an answer before or after they are passed on, and count its usage."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from gateway.meters.usage import Usage


class Meter(ABC):
    usage: Usage | None = None
    """The usage that the provider has reported, once it has."""
    unfinished = 0
    """The number of bytes at the end of the last returned piece that belong to an incomplete event."""
    model: str = ""
    """The model that answered; empty if the provider has not named it."""
    error: dict[str, Any] | None = None
    """What the provider has sent instead of an answer, or of its rest."""

    @property
    def reported(self) -> Usage:
        """What the provider has reported so far."""
        return self.usage or Usage(has_output=False)

    @property
    def has_content(self) -> bool:
        """Whether part of the output has certainly arrived."""
        return False

    @abstractmethod
    def feed(self, piece: bytes) -> bytes:
        """Takes a piece of the answer and returns the part that may be passed on now."""

    @property
    def is_between_events(self) -> bool:
        """Whether the next piece begins with a new event."""
        return False

    def passes_unchanged(self, _piece: bytes, /) -> bool:
        """Whether `feed` returns this piece, which begins with a new event, and is between events again after it.

        Such a piece may be passed on before it is read.
        """
        return False

    def finish(self) -> bytes:
        """Returns the rest to pass on at the end of the answer."""
        return b""

    def final(self, bound: Usage) -> Usage:
        """Returns the usage of a complete answer. Estimates what the provider has not reported.

        Some servers report only zeros, or only one of the two numbers.
        """
        reported = self.reported
        if not self._is_output_reported(bound):
            return self.estimate_complete(bound)
        if reported.input or not bound.input:
            return reported
        return replace(reported, input=bound.input, is_estimated=True)

    def _is_output_reported(self, bound: Usage) -> bool:
        """Whether the reported output is plausible. It may be zero if the input is not and the answer is empty.

        Without output to pay for, such as for an embedding, no report of it is needed.
        """
        if self.usage is None:
            return False
        if not bound.output:
            return True
        is_empty = bool(self.usage.input) and not self.has_content
        return self.usage.has_output and (self.usage.output > 0 or is_empty)

    def estimate(self, bound: Usage) -> Usage:
        """Returns the usage of an answer that does not report it. Assumes the most that it can have cost, `bound`."""
        return self._completed(bound, output=bound.output)

    def estimate_complete(self, bound: Usage) -> Usage:
        """Returns the same for an answer that has not broken off."""
        return self.estimate(bound)

    def _completed(self, bound: Usage, *, output: int) -> Usage:
        """Returns the reported usage with at least this output."""
        reported = self.reported
        return replace(
            reported,
            input=reported.input or bound.input,
            output=max(reported.output, output),
            is_estimated=True,
            has_output=True,
        )

    def least_tokens(self) -> int:
        """Returns how many tokens have certainly arrived."""
        return 0

    def exceeds(self, limit: int) -> bool:
        """Whether certainly more than this number of tokens have arrived."""
        return self.least_tokens() > limit

    def bytes_below(self, _limit: int, /) -> int:
        """Returns how many more bytes of the answer certainly do not exceed this number of tokens."""
        return 0

    def likely_tokens(self) -> int:
        """Returns how many tokens have probably arrived, rather too many than too few. Estimates use this number."""
        return 0
