"""The limits of one chat: messages per minute, length of a message, and time and steps of one answer."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from berth_agent.inputs import refuse

MINUTE = 60.0
MOST_CHATS = 10_000  # whose messages are counted; at this number the chats without recent messages are dropped
TOLERANCE = 1e-6  # seconds


class Limits(NamedTuple):
    messages_per_minute: int
    longest_message: int  # characters
    answer_seconds: int  # for one answer, including its tools
    answer_steps: int  # rounds of tool use for one answer


def read_limits(settings: Mapping[str, Any]) -> Limits:
    """Reads the limits. Raises FatalError (exit 40), which names the invalid setting."""
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
    if isinstance(value, float) and value.is_integer():  # JSON Schema accepts 10.0 as an integer
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refuse(f"{name} must be a whole number from {least} to {most}.")
    return value


class RateLimiter:
    """Limits the messages of each chat to a number per minute. All of them may come at once."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._interval = MINUTE / per_minute
        self._now = now
        self._free_at: dict[int, float] = {}

    def reserve(self, chat: int) -> float:
        """Counts one message and returns 0.0. At the limit it counts nothing and returns the seconds to wait."""
        now = self._now()
        free_at = max(self._free_at.get(chat, 0.0), now)
        wait = free_at - now - (MINUTE - self._interval)
        if wait > TOLERANCE:
            return wait
        if len(self._free_at) >= MOST_CHATS:
            self._forget_idle_chats(now)
        self._free_at[chat] = free_at + self._interval
        return 0.0

    def _forget_idle_chats(self, now: float) -> None:
        """Forgets chats that may send at full rate again, or all chats if there are none: other limits stop a flood
        from that many chats.
        """
        self._free_at = {chat: at for chat, at in self._free_at.items() if at > now}
        if len(self._free_at) >= MOST_CHATS:
            self._free_at.clear()
