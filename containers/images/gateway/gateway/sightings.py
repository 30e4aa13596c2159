"""Records what the gateway itself has seen of each agent, no matter what the agent reports.

In memory, except for refusals, which stand until the contrary is seen: a later process still knows them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gateway.budgets.kept_refusals import KeptRefusals, Row
from gateway.entries.entry import Entry
from gateway.proofs import OF_TELEGRAM, Fact, Proof
from gateway.standings import Shown, Standing, is_refused, show_provider, show_telegram

REPORTED_AFTER = 3.0
"""Seconds before a refusal because of the budget is reported. It is not reported if a call that fits follows in time:
an assistant asks again at once, with less of the conversation."""
STEP = 1.0
"""Seconds by which the clock may drift from the monotonic one before it counts as set."""


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
        kept: KeptRefusals | None = None,
    ) -> None:
        """`find_entry` returns a project's present entry. What is seen with the credentials of a former one does not
        count. Without it, the given entry is the present one.
        """
        self._now = now
        self._tick = tick or now
        self._find_entry = find_entry
        self._kept = kept
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._began = self._tick()
        self._offset = now() - self._began

    def restore(self, refusals: Iterable[Row]) -> None:
        """Takes over what an earlier process has kept, except where this one knows better by now.

        A moment that lies in the future counts as the present.
        """
        for project, fact, at in refusals:
            if self._find_entry is not None and self._find_entry(project) is None:
                self._drop(project, {fact})
                continue
            tick = self._tick() - max(0.0, self._now() - at)
            self._seen[project].facts.setdefault(fact, Standing(is_refused=True, since=tick, at=tick))

    def note(self, entry: Entry, proof: Proof, *, is_poll: bool = False) -> None:
        """Notes what an answer to a call with the entry's credentials proves."""
        current = self._find_entry(entry.project) if self._find_entry else entry
        if current is None:
            return
        told: dict[Fact, bool | None] = {**dict.fromkeys(proof.accepted, False), **dict.fromkeys(proof.doubtful)}
        told |= {proof.refused: True} if proof.refused else {}
        told = {fact: each for fact, each in told.items() if _credential(fact, current) == _credential(fact, entry)}
        if told:
            self._tell(entry.project, told)
        if is_poll and current.bot == entry.bot:
            self._seen[entry.project].last_poll = self._tick()

    def _tell(self, project: str, told: dict[Fact, bool | None]) -> None:
        """Writes only what has changed, and once after each start that nothing is refused."""
        facts, at = self._seen[project].facts, self._tick()
        told = {fact: each for fact, each in told.items() if each is not None or not is_refused(facts.get(fact))}
        same = {fact for fact, each in told.items() if fact in facts and facts[fact].is_refused == each}
        for fact, each in told.items():
            facts[fact] = Standing(each, facts[fact].since if fact in same else at, at)
            if each and fact not in same and self._kept is not None:
                self._kept.keep(project, fact, self._now())
        self._drop(project, {fact for fact, each in told.items() if each is False} - same)

    def _drop(self, project: str, facts: set[Fact]) -> None:
        if facts and self._kept is not None:
            self._kept.drop(project, facts)

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
        changed = {fact for fact in Fact if new is None or _credential(fact, old) != _credential(fact, new)}
        self._drop(old.project, changed)
        if new is None:
            self._seen.pop(old.project, None)
        elif seen is not None:
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
            **self._name("telegram", show_telegram(seen.facts)),
            **self._name("provider", show_provider(seen.facts)),
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

    def _name(self, whose: str, shown: Shown) -> dict[str, Any]:
        status, standing = shown
        return {
            f"{whose}_status": status,
            f"{whose}_since": self._moment(standing and standing.since),
            f"{whose}_at": self._moment(standing and standing.at),
        }

    def _moment(self, tick: float | None) -> float | None:
        return None if tick is None else tick + self._offset


def _credential(fact: Fact, entry: Entry) -> object:
    return entry.bot if fact in OF_TELEGRAM else entry.provider
