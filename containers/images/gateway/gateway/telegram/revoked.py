"""Tokens that Telegram has known and knows no more: their owner may be about to give the new one.

An agent that is told 401 ends for good. It is asked to come again until the new token has come, and goes on with that.
"""

from collections.abc import Callable
from dataclasses import dataclass

WAITS_FOR = 600.0
"""Seconds from the first refusal on. The owner is told of it by the project's status at once."""


@dataclass(slots=True)
class _Known:
    token: str
    refused_since: float | None = None


class Revoked:
    """In memory: a token that has not worked since the gateway was started is refused as Telegram refuses it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, _Known] = {}

    def note(self, project: str, token: str, status: int) -> bool:
        """Takes note of a status of Telegram. Returns whether the agent is to come again, instead of being told it."""
        known = self._known.get(project)
        if status == 200 and (known is None or known.token != token or known.refused_since is not None):
            self._known[project] = _Known(token)
        if status != 401 or known is None or known.token != token:
            return False
        if known.refused_since is None:
            known.refused_since = self._now()
        return self._now() - known.refused_since < WAITS_FOR

    def forget(self, project: str) -> None:
        self._known.pop(project, None)
