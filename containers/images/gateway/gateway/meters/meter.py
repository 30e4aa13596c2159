"""Meters read the pieces of an answer before or after they are passed on, and count its usage."""

from abc import ABC, abstractmethod
from dataclasses import replace

from gateway.meters.usage import Usage


class Meter(ABC):
    usage: Usage | None = None
    """The usage that the provider has reported, once it has."""
    unfinished = 0
    """The number of bytes at the end of the last returned piece that belong to an incomplete event."""
    model: str = ""
    """The model that answered; empty if the provider has not named it."""

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
        """Returns the usage of a complete answer. Some servers always report only zeros."""
        return self.usage if self.usage and (self.usage.tokens or self.usage.money) else self.estimate(bound)

    def estimate(self, bound: Usage) -> Usage:
        """Returns the usage of an answer that does not report it. Assumes the most that it can have cost, `bound`."""
        return replace(bound, is_estimated=True)

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
