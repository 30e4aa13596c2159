"""What the gateway itself has seen of each agent, whatever the agent says. In memory: after a start it is seen anew."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

STANDS = 3.0
"""Seconds after which a refusal is told that no call has followed which had room. An assistant asks again at once, with
less of what was said before."""


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
    """When a call was last refused because of the budget, if none had room since."""
    budget_period: str | None = None
    """Whose budget it was: of the `day` or of the `month`."""
    budget_room: float | None = None
    """When the budget had room for a call: for the first one at all, or after such as were refused."""
    astray_at: float | None = None
    """When its right credential last came from an address that is no agent's."""
    astray_from: str | None = None
    """That address."""
    astray: int = 0
    """How often, since the gateway was started."""


class Truth:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._refused_since: dict[str, float] = {}
        """When the budget of a project was first reached, if no call had room since."""
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
        """Not of a period that is over by now: a call counts in the one in which it was asked."""
        if datetime.fromisoformat(resets).timestamp() <= self._now():
            return
        seen = self._seen[project]
        seen.budget_reached, seen.budget_period = self._now(), period
        self._refused_since.setdefault(project, self._now())

    def note_room(self, project: str) -> None:
        """The budget has room for a call: it is not reached, whatever was refused before."""
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
            "seen": {project: self._tell(project, seen) for project, seen in self._seen.items()},
        }

    def _tell(self, project: str, seen: Seen) -> dict[str, Any]:
        told, since = asdict(seen), self._refused_since.get(project)
        if since is not None and 0 <= self._now() - since < STANDS:
            told |= {"budget_reached": None, "budget_period": None}
        return told
