"""A gateway, the row of its only project, and the truth about what Telegram and the provider refuse.

The last answer that told something of a fact counts, and nothing else.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, cast

from gateway.budgets.kept_refusals import KeptRefusals
from gateway.budgets.kept_refusals import _read as read_rows
from gateway.budgets.writing.schema import SCHEMA
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


DISK = sqlite3.connect(":memory:", isolation_level=None)
DISK.executescript(SCHEMA)


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
        self.has_lost_disk = False
        DISK.execute("DELETE FROM refusals")
        self.restart()

    def restart(self) -> None:
        """Kills the gateway and starts another one. All it has written is on its disk."""
        kept = KeptRefusals(cast(Any, None), lambda work: work(DISK))
        self.gateway = Sightings(self.time.now, lambda: self.time.tick, lambda _: self.present, kept)
        self.gateway.restore(read_rows(DISK))

    @property
    def present(self) -> Entry | None:
        return None if self.is_void else self.current

    def lose_disk(self) -> None:
        """Only the row knows now what was seen."""
        self.has_lost_disk = True
        DISK.execute("DELETE FROM refusals")
        self.restart()

    def call(self, event: "Event") -> None:
        self.gateway.note(self.current, event.proof, is_poll=event.is_poll)
        for fact, is_refused in event.told.items():
            if is_refused is not None:
                self.told[fact] = is_refused
            elif not self.told.get(fact):
                self.told.pop(fact, None)

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
        """The watcher looks, and the row follows."""
        seen = self.gateway.as_document()["seen"].get("p")
        if seen is not None:
            found = read_sighting(seen)
            assert all(at is None or at <= self.time.now() for at in (found.telegram_at, found.provider_at))
            self.row = rules.judge(self.row, found.facts or {}, since=self.since)

    def check(self, history: object) -> None:
        code = next((code for fact, code in CODES.items() if self.told.get(fact)), "")
        if not self.has_lost_disk:
            assert self.find_code() == code, f"The gateway without the row: {history}"
        self.look()
        assert self.row.code == code, history
        well = {CODES[fact] for fact, is_refused in self.told.items() if not is_refused}
        for each in set(CODES.values()) - well:
            assert not rules.is_refuted(each, self.row.well), history
        assert len(self.row.well) <= 40

    def find_code(self) -> str:
        """Returns what the gateway alone knows, without the row."""
        seen = self.gateway.as_document()["seen"].get("p")
        facts = (read_sighting(seen).facts if seen else None) or {}
        return rules.judge(rules.Judgement("", ""), facts, since=0.0).code


@dataclass(frozen=True)
class Event:
    """A call and its answer. `told` has the facts about which it tells something: whether they are refused. None: they
    may be, in words that only the agent knows."""

    name: str
    proof: Proof
    is_poll: bool
    told: dict[Fact, bool | None]


def events_of(requests: Sequence[Request]) -> list[Event]:
    """Returns what can happen, each kind once."""
    needed = sorted({fact for request in requests for fact in request.needs})
    worlds = [World(), *(World(frozenset({fact})) for fact in needed), *(World(network=each) for each in Network)]
    found: dict[str, Event] = {}
    for request, world in product(requests, worlds):
        status, _, refused = request.answer(world)
        told: dict[Fact, bool | None] = {fact: False for fact in request.needs if status == 200}
        if request.has_costs and 400 <= status < 500:
            told = {Fact.CREDIT: None}
        if refused:
            told = {request.needs[0]: False, refused: True}  # in which order the others are checked is not known
        proof, is_poll = request.proof(world), request.is_poll and status == 200
        found.setdefault(repr((proof, is_poll, told)), Event(f"{request.name} {status}", proof, is_poll, told))
    return list(found.values())


def steps_of(events: Iterable[Event]) -> list[tuple[str, Callable[[Berth], None]]]:
    return [(event.name, partial(Berth.call, event=event)) for event in events]
