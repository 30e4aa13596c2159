"""A gateway, the row of its only project, and the truth about what Telegram and the provider refuse.

The last answer that told something of a fact counts, and nothing else.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from gateway.entries.entry import Entry
from gateway.proofs import OF_TELEGRAM, Fact, Proof
from gateway.sightings import Sightings

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from containers.gateway.sightings import read_sighting
from projects.rules.status import sightings as rules
from tests.gateway.upstream_worlds import Network, Request, World, entry

CODES = {
    Fact.TOKEN: "telegram_token", Fact.POLLING: "telegram_conflict", Fact.KEY: "provider_key",
    Fact.PERMISSION: "provider_key", Fact.CREDIT: "provider_credit",
}  # fmt: skip
"""In the order of importance."""


@dataclass
class Time:
    """The wall clock can be set, the other one cannot."""

    tick: float = 500.0
    ahead: float = 1_800_000_000.0

    def now(self) -> float:
        return self.tick + self.ahead


@dataclass
class Berth:
    """A gateway, the row of its only project, and the truth."""

    time: Time = field(default_factory=Time)
    told: dict[Fact, bool] = field(default_factory=dict)
    row: rules.Judgement = field(default_factory=lambda: rules.Judgement("", ""))
    current: Entry = field(default_factory=entry)
    since: float = 0.0
    is_void: bool = False
    changes: int = 0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.gateway = Sightings(
            self.time.now, lambda: self.time.tick, lambda _: None if self.is_void else self.current
        )

    def call(self, event: "Event") -> None:
        self.gateway.note(self.current, event.proof, is_poll=event.is_poll)
        self.told |= event.told

    def change(self, facts: Iterable[Fact]) -> None:
        """The owner changes the credential that these facts are about."""
        old, is_token = self.current, Fact.TOKEN in facts
        self.changes += 1
        name = f"new{self.changes}"
        self.current = (
            replace(old, bot=entry(token=name).bot) if is_token else replace(old, provider=entry(key=name).provider)
        )
        self.gateway.change_entry(old, self.current)
        self.since = self.time.now()
        self.row = self.row.without(rules.OF_TELEGRAM if is_token else rules.OF_PROVIDER)
        self.told = {fact: is_refused for fact, is_refused in self.told.items() if (fact in OF_TELEGRAM) != is_token}

    def look(self) -> None:
        seen = self.gateway.as_document()["seen"].get("p")
        if seen is not None:
            found = read_sighting(seen)
            assert all(at is None or at <= self.time.now() for at in (found.telegram_at, found.provider_at))
            self.row = rules.judge(self.row, found.facts or {}, since=self.since)

    def check(self, history: object) -> None:
        code = next((code for fact, code in CODES.items() if self.told.get(fact)), "")
        assert self.row.code == code, history
        well = {CODES[fact] for fact, is_refused in self.told.items() if not is_refused}
        for each in set(CODES.values()) - well:
            assert not rules.is_refuted(each, self.row.well), history
        assert len(self.row.well) <= 40


@dataclass(frozen=True)
class Event:
    """A call and its answer. `told` has the facts about which it tells something: whether they are refused."""

    name: str
    proof: Proof
    is_poll: bool
    told: dict[Fact, bool]


def events_of(requests: Sequence[Request]) -> list[Event]:
    """Returns what can happen, each kind once."""
    needed = sorted({fact for request in requests for fact in request.needs})
    worlds = [World(), *(World(frozenset({fact})) for fact in needed), *(World(network=each) for each in Network)]
    found: dict[str, Event] = {}
    for request, world in product(requests, worlds):
        status, _, refused = request.answer(world)
        told = dict.fromkeys(request.needs, False) if status == 200 else {}
        if refused:
            told = {request.needs[0]: False} | {refused: True}  # in which order the others are checked is not known
        proof, is_poll = request.proof(world), request.is_poll and status == 200
        found.setdefault(repr((proof, is_poll, told)), Event(f"{request.name} {status}", proof, is_poll, told))
    return list(found.values())


def steps_of(events: Iterable[Event]) -> list[tuple[str, Callable[[Berth], None]]]:
    return [(event.name, partial(Berth.call, event=event)) for event in events]
