"""Timestamps that a proxy in front of the engine changes."""

from typing import Protocol


class Clock(Protocol):
    """Changes timestamps on their way to the engine and back, but not their length."""

    def request(self, text: bytes) -> bytes: ...

    def answer(self, text: bytes) -> bytes: ...
