"""What the gateway itself has seen of each agent, whatever the agent says. In memory: after a start it is seen anew."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(slots=True)
class Seen:
    """Moments are seconds since 1970, statuses those of HTTP. None: not since the gateway was started."""

    last_poll: float | None = None
    """When Telegram last answered a poll of the bot. It holds one for 50 seconds at the most."""
    telegram_status: int | None = None
    telegram_since: float | None = None
    """Since when Telegram has answered with this status."""
    telegram_at: float | None = None
    """When Telegram has answered with it the last time."""
    provider_status: int | None = None
    provider_since: float | None = None
    provider_at: float | None = None
    budget_reached: float | None = None
    """When a call was last refused because of the budget."""
    budget_period: str | None = None
    """Whose budget it was: of the `day` or of the `month`."""


class Truth:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self.began = now()

    def note_poll(self, project: str) -> None:
        self._seen[project].last_poll = self._now()

    def note_telegram(self, project: str, status: int) -> None:
        seen = self._seen[project]
        seen.telegram_at = self._now()
        if seen.telegram_status != status:
            seen.telegram_status, seen.telegram_since = status, self._now()

    def note_provider(self, project: str, status: int) -> None:
        seen = self._seen[project]
        seen.provider_at = self._now()
        if seen.provider_status != status:
            seen.provider_status, seen.provider_since = status, self._now()

    def note_budget(self, project: str, period: str, *, resets: str) -> None:
        """Not of a period that is over by now: a call counts in the one in which it was asked."""
        if datetime.fromisoformat(resets).timestamp() <= self._now():
            return
        seen = self._seen[project]
        seen.budget_reached, seen.budget_period = self._now(), period

    def forget(self, project: str) -> None:
        self._seen.pop(project, None)

    def as_document(self) -> dict[str, Any]:
        return {"began": self.began, "seen": {project: asdict(seen) for project, seen in self._seen.items()}}
