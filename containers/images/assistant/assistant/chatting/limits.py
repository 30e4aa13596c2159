"""How much one chat may ask: how often, how long, and how much is done for one answer."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from berth_agent.inputs import refuse

MINUTE = 60.0
MOST_CHATS = 10_000  # of which is remembered how often they have asked; then those that have rested are forgotten
TOLERANCE = 1e-6  # seconds


class Limits(NamedTuple):
    messages_per_minute: int
    longest_message: int  # characters
    answer_seconds: int  # for all of an answer
    answer_steps: int  # in which tools are used, of an answer


def read_limits(settings: Mapping[str, Any]) -> Limits:
    """Raises FatalError (exit 40), which names the setting."""
    return Limits(
        messages_per_minute=read_whole(settings, "messages_per_minute", 10, least=1, most=600),
        longest_message=read_whole(settings, "longest_message", 4096, least=100, most=4096),
        answer_seconds=read_whole(settings, "answer_seconds", 300, least=1, most=1800),
        answer_steps=read_whole(settings, "answer_steps", 8, least=1, most=20),
    )


def read_whole(settings: Mapping[str, Any], name: str, default: int, *, least: int, most: int) -> int:
    value = settings.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():  # JSON Schema takes 10.0 for an integer
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refuse(f"{name} must be a whole number from {least} to {most}.")
    return value


class Pace:
    """So many a minute from each chat, and as many at once."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._each = MINUTE / per_minute
        self._now = now
        self._free_at: dict[int, float] = {}

    def wait_for(self, chat: int) -> float:
        """0.0, having counted one more; or the seconds after which there is room for one, having counted nothing."""
        now = self._now()
        free_at = max(self._free_at.get(chat, 0.0), now)
        wait = free_at - now - (MINUTE - self._each)
        if wait > TOLERANCE:
            return wait
        if len(self._free_at) >= MOST_CHATS:
            self._forget_the_rested(now)
        self._free_at[chat] = free_at + self._each
        return 0.0

    def _forget_the_rested(self, now: float) -> None:
        """All, where none has rested: a flood from so many chats is held up by other limits."""
        self._free_at = {chat: at for chat, at in self._free_at.items() if at > now}
        if len(self._free_at) >= MOST_CHATS:
            self._free_at.clear()
