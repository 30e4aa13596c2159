"""Records what the gateway itself has seen of each agent, no matter what the agent reports.

In memory only: it is empty after a start. The service keeps what was refused until the gateway has seen the contrary.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from gateway.entries.entry import Entry
from gateway.proofs import OF_TELEGRAM, Fact, Proof

REPORTED_AFTER = 3.0
"""Seconds before a refusal because of the budget is reported. It is not reported if a call that fits follows in time:
an assistant asks again at once, with less of the conversation."""
STEP = 1.0
"""Seconds by which the clock may drift from the monotonic one before it counts as set."""

_TELEGRAM = {Fact.TOKEN: 401, Fact.POLLING: 409}
_PROVIDER = {Fact.KEY: 401, Fact.PERMISSION: 401, Fact.CREDIT: 402}
"""The status that stands for a refusal, also if the upstream used another one. The first refusal is reported."""


class Standing(NamedTuple):
    """What an upstream last said about a fact: since when it says so, and when it last did."""

    is_refused: bool
    since: float
    at: float


@dataclass(slots=True)
class Seen:
    """Moments are of the monotonic clock. None means: not since the gateway was started."""

    facts: dict[Fact, Standing] = field(default_factory=dict)
    last_poll: float | None = None
    """When Telegram last answered a poll of the bot. It holds a poll for at most 50 seconds."""
    budget_reached: float | None = None
    """When a call was last refused because of the budget, if no call has fitted since."""
    budget_since: float | None = None
    """When the budget was first reached, if no call has fitted since."""
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
    """Events are ordered by `tick`, a clock that is never set. They are reported as moments of `now`, the wall clock,
    as if that had always shown what it shows at present. So no event lies in the future after the clock was set back.
    """

    def __init__(
        self,
        now: Callable[[], float],
        tick: Callable[[], float] | None = None,
        find_entry: Callable[[str], Entry | None] | None = None,
    ) -> None:
        """`find_entry` returns a project's present entry. What is seen with the credentials of a former one does not
        count. Without it, the given entry is the present one.
        """
        self._now = now
        self._tick = tick or now
        self._find_entry = find_entry
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._began = self._tick()
        self._offset = now() - self._began

    def note(self, entry: Entry, proof: Proof, *, is_poll: bool = False) -> None:
        """Notes what an answer to a call with the entry's credentials proves."""
        current = self._find_entry(entry.project) if self._find_entry else entry
        if current is None or not (proof.accepted or proof.refused):
            return
        told = [(fact, False) for fact in proof.accepted] + ([(proof.refused, True)] if proof.refused else [])
        for fact, is_refused in told:
            if _credential(fact, current) == _credential(fact, entry):
                self._tell(self._seen[entry.project], fact, is_refused=is_refused)
        if is_poll and current.bot == entry.bot:
            self._seen[entry.project].last_poll = self._tick()

    def _tell(self, seen: Seen, fact: Fact, *, is_refused: bool) -> None:
        before, at = seen.facts.get(fact), self._tick()
        since = before.since if before is not None and before.is_refused == is_refused else at
        seen.facts[fact] = Standing(is_refused, since, at)

    def note_astray(self, project: str, address: str) -> None:
        seen = self._seen[project]
        seen.astray_at, seen.astray_from, seen.astray = self._tick(), address, seen.astray + 1

    def note_budget(self, project: str, period: str, *, resets: str) -> None:
        """Notes a refusal, unless its period is over by now: a call counts in the period in which it began."""
        if datetime.fromisoformat(resets).timestamp() <= self._now():
            return
        seen = self._seen[project]
        seen.budget_reached, seen.budget_period = self._tick(), period
        seen.budget_since = self._tick() if seen.budget_since is None else seen.budget_since

    def note_room(self, project: str) -> None:
        """Notes that a call fits the budget, so that the budget no longer counts as reached."""
        seen = self._seen[project]
        if seen.budget_room is None or seen.budget_reached is not None:
            seen.budget_room = self._tick()
            seen.budget_reached = seen.budget_since = seen.budget_period = None

    def change_entry(self, old: Entry, new: Entry | None) -> None:
        """Forgets what was seen with credentials that have changed, or everything if the project has no entry."""
        seen = self._seen.get(old.project)
        if new is None:
            self._seen.pop(old.project, None)
        elif seen is not None:
            changed = {fact for fact in Fact if _credential(fact, old) != _credential(fact, new)}
            seen.facts = {fact: standing for fact, standing in seen.facts.items() if fact not in changed}
            seen.last_poll = None if Fact.TOKEN in changed else seen.last_poll

    def as_document(self) -> dict[str, Any]:
        now, tick = self._now(), self._tick()
        if abs(now - tick - self._offset) > STEP:
            self._offset = now - tick
        return {
            "now": now,
            "began": self._moment(self._began),
            "seen": {project: self._describe(seen, tick) for project, seen in self._seen.items()},
        }

    def _describe(self, seen: Seen, tick: float) -> dict[str, Any]:
        is_passing = seen.budget_since is not None and tick - seen.budget_since < REPORTED_AFTER
        return {
            "last_poll": self._moment(seen.last_poll),
            **self._name("telegram", seen, _TELEGRAM, accepted=Fact.TOKEN),
            **self._name("provider", seen, _PROVIDER, accepted=Fact.CREDIT),
            "facts": {
                fact: {"refused": standing.is_refused, "at": self._moment(standing.at)}
                for fact, standing in seen.facts.items()
            },
            "budget_reached": None if is_passing else self._moment(seen.budget_reached),
            "budget_period": None if is_passing else seen.budget_period,
            "budget_room": self._moment(seen.budget_room),
            "astray_at": self._moment(seen.astray_at),
            "astray_from": seen.astray_from,
            "astray": seen.astray,
        }

    def _name(self, whose: str, seen: Seen, statuses: dict[Fact, int], *, accepted: Fact) -> dict[str, Any]:
        """Describes the first refusal that stands, or else when the upstream last accepted this fact, as 200."""
        found = _first_refusal(seen, statuses) or _acceptance(seen.facts.get(accepted))
        status, standing = found or (None, None)
        return {
            f"{whose}_status": status,
            f"{whose}_since": self._moment(standing and standing.since),
            f"{whose}_at": self._moment(standing and standing.at),
        }

    def _moment(self, tick: float | None) -> float | None:
        return None if tick is None else tick + self._offset


def _credential(fact: Fact, entry: Entry) -> object:
    return entry.bot if fact in OF_TELEGRAM else entry.provider


def _first_refusal(seen: Seen, statuses: dict[Fact, int]) -> tuple[int, Standing] | None:
    standings = ((status, seen.facts.get(fact)) for fact, status in statuses.items())
    return next(((status, each) for status, each in standings if each is not None and each.is_refused), None)


def _acceptance(standing: Standing | None) -> tuple[int, Standing] | None:
    return None if standing is None or standing.is_refused else (200, standing)
