"""Records what the gateway itself has seen of each agent, no matter what the agent reports.

In memory only: it is empty after a start.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

REPORTED_AFTER = 3.0
"""Seconds before a refusal because of the budget is reported. It is not reported if a call that fits follows in time:
an assistant asks again at once, with less of the conversation."""


@dataclass(slots=True)
class Seen:
    """Moments are in seconds since 1970, statuses are of HTTP. None means: not since the gateway was started."""

    last_poll: float | None = None
    """When Telegram last answered a poll of the bot. It holds a poll for at most 50 seconds."""
    telegram_status: int | None = None
    telegram_since: float | None = None
    """When Telegram first answered with this status, after a different one."""
    telegram_at: float | None = None
    """When Telegram last answered with this status."""
    provider_status: int | None = None
    provider_since: float | None = None
    provider_at: float | None = None
    budget_reached: float | None = None
    """When a call was last refused because of the budget, if no call has fitted since."""
    budget_period: str | None = None
    """The period of that budget: `day` or `month`."""
    budget_room: float | None = None
    """When the first call fitted the budget, or the first one after a refusal."""
    astray_at: float | None = None
    """When its correct credential last came from an address that no agent has."""
    astray_from: str | None = None
    """That address."""
    astray: int = 0
    """How often that has happened since the gateway was started."""


class Sightings:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._refused_since: dict[str, float] = {}
        """When the budget of a project was first reached, if no call has fitted since."""
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

    def note_astray(self, project: str, address: str) -> None:
        seen = self._seen[project]
        seen.astray_at, seen.astray_from, seen.astray = self._now(), address, seen.astray + 1

    def note_budget(self, project: str, period: str, *, resets: str) -> None:
        """Notes a refusal, unless its period is over by now: a call counts in the period in which it began."""
        if datetime.fromisoformat(resets).timestamp() <= self._now():
            return
        seen = self._seen[project]
        seen.budget_reached, seen.budget_period = self._now(), period
        self._refused_since.setdefault(project, self._now())

    def note_room(self, project: str) -> None:
        """Notes that a call fits the budget, so that the budget no longer counts as reached."""
        seen = self._seen[project]
        if seen.budget_room is None or seen.budget_reached is not None:
            seen.budget_room, seen.budget_reached, seen.budget_period = self._now(), None, None
            self._refused_since.pop(project, None)

    def forget(self, project: str) -> None:
        self._seen.pop(project, None)
        self._refused_since.pop(project, None)

    def as_document(self) -> dict[str, Any]:
        return {
            "began": self.began,
            "seen": {project: self._describe(project, seen) for project, seen in self._seen.items()},
        }

    def _describe(self, project: str, seen: Seen) -> dict[str, Any]:
        document, since = asdict(seen), self._refused_since.get(project)
        if since is not None and 0 <= self._now() - since < REPORTED_AFTER:
            document |= {"budget_reached": None, "budget_period": None}
        return document
