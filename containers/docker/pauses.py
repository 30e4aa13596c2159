"""How long something that gave no answer in time is left alone."""

import time

LONGEST = 10.0
"""Seconds. A pause is as long as the silence so far, because most silences last only for a moment."""

FIRST = 0.5
"""Seconds for the first pause."""

FORGOTTEN_AFTER = 60.0
"""Seconds after the last pause until a silence is forgotten."""


class Pauses:
    """Remembers silences by name, for all threads."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._since: dict[str, float] = {}

    def is_on(self, name: str) -> bool:
        return time.monotonic() < self._until.get(name, 0.0)

    def begin(self, name: str) -> None:
        """Notes that there was no answer in time."""
        now = time.monotonic()
        silent_for = now - self._since.setdefault(name, now)
        self._until[name] = now + min(max(silent_for, FIRST), LONGEST)

    def end(self, name: str) -> None:
        """Notes an answer."""
        self._since.pop(name, None)
        self._until.pop(name, None)

    def forget_old(self) -> None:
        before = time.monotonic() - FORGOTTEN_AFTER
        for name in [name for name, until in list(self._until.items()) if until < before]:
            self.end(name)
