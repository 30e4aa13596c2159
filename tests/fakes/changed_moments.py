"""What a proxy before the engine may do with the moments that pass it."""

from typing import Protocol


class Clock(Protocol):
    """Changes moments on their way to the engine and back, and no lengths."""

    def request(self, text: bytes) -> bytes: ...

    def answer(self, text: bytes) -> bytes: ...
