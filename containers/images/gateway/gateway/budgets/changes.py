"""The changes of reservations and usage on disk. Each runs in the disk's thread, inside a transaction.

`reflect` makes a change that is on disk in the mirror too, from which a file that gets damaged is written again.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, fields
from typing import NamedTuple, Protocol

from gateway.meters.usage import MAX_COUNT

COLUMNS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")

_ADD = """
    INSERT INTO usage (project, hour, model, messages, requests, errors, estimated, input, output, cached, money, seq)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (project, hour, model) DO UPDATE SET
        messages = min(messages + ?4, ?13), requests = min(requests + ?5, ?13), errors = min(errors + ?6, ?13),
        estimated = min(estimated + ?7, ?13), input = min(input + ?8, ?13), output = min(output + ?9, ?13),
        cached = min(cached + ?10, ?13), money = min(money + ?11, ?13), seq = ?12
"""
_CHANGE_ADVANCE = """
    INSERT INTO advances (project, hour, tokens, money) VALUES (?, ?, ?, ?)
    ON CONFLICT (project, hour) DO UPDATE SET tokens = tokens + excluded.tokens, money = money + excluded.money
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """The amounts to add to one hour of one project and model, in the order of `COLUMNS`."""

    messages: int = 0
    requests: int = 0
    errors: int = 0
    estimated: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    money: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


class Cell(NamedTuple):
    project: str
    hour: int
    model: str


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a call in flight can cost. It counts in the hour of the request."""

    id: int
    project: str
    hour: int
    model: str
    input: int
    output: int
    money: int

    @property
    def tokens(self) -> int:
        return self.input + self.output


class Mirrored(Protocol):
    """What the mirror offers to changes."""

    reservations: dict[int, Reservation]

    def change_advance(self, project: str, hour: int, tokens: int, money: int) -> None: ...
    def add(self, cells: dict[Cell, Counts], seq: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Insert:
    """Writes a reservation. `is_drawn` means that the project's advance has covered it until now."""

    reservation: Reservation
    is_drawn: bool = False

    def __call__(self, connection: sqlite3.Connection) -> None:
        one = self.reservation
        connection.execute("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(one))
        if self.is_drawn:
            connection.execute(_CHANGE_ADVANCE, (one.project, one.hour, -one.tokens, -one.money))

    def reflect(self, mirror: Mirrored, _: object) -> None:
        one = self.reservation
        mirror.reservations[one.id] = one
        if self.is_drawn:
            mirror.change_advance(one.project, one.hour, -one.tokens, -one.money)


@dataclass(frozen=True, slots=True)
class Extend:
    """Adds the tokens of an answer that is longer than requested. `reservation` has them already."""

    reservation: Reservation

    def __call__(self, connection: sqlite3.Connection) -> None:
        one = self.reservation
        connection.execute(
            "UPDATE reservations SET output = ?, money = ? WHERE id = ?", (one.output, one.money, one.id)
        )

    def reflect(self, mirror: Mirrored, _: object) -> None:
        if self.reservation.id in mirror.reservations:
            mirror.reservations[self.reservation.id] = self.reservation


@dataclass(frozen=True, slots=True)
class ChangeAdvance:
    project: str
    hour: int
    tokens: int
    money: int

    def __call__(self, connection: sqlite3.Connection) -> None:
        connection.execute(_CHANGE_ADVANCE, (self.project, self.hour, self.tokens, self.money))

    def reflect(self, mirror: Mirrored, _: object) -> None:
        mirror.change_advance(self.project, self.hour, self.tokens, self.money)


@dataclass(frozen=True, slots=True)
class Settle:
    """Replaces reservations by counts."""

    ids: tuple[int, ...] = ()
    cells: dict[Cell, Counts] = field(default_factory=dict)

    def __call__(self, connection: sqlite3.Connection) -> int:
        """Returns the number of the last change."""
        connection.executemany("DELETE FROM reservations WHERE id = ?", [(each,) for each in self.ids])
        return max((add(connection, cell, counts) for cell, counts in self.cells.items()), default=0)

    def reflect(self, mirror: Mirrored, answer: object) -> None:
        for each in self.ids:
            mirror.reservations.pop(each, None)
        if isinstance(answer, int):
            mirror.add(self.cells, answer)


def settle(reservation: Reservation, counts: Counts, *, model: str) -> Settle:
    """`model` is the name to count under; no cost and no name leave no row."""
    cell = Cell(reservation.project, reservation.hour, model)
    ids = (reservation.id,) if reservation.id else ()
    return Settle(ids, {cell: counts} if model or any(_values(counts)) else {})


def add_to(cells: dict[Cell, Counts], more: dict[Cell, Counts]) -> None:
    for cell, counts in more.items():
        cells[cell] = cells[cell] + counts if cell in cells else counts


def by_day(cells: dict[Cell, Counts]) -> dict[Cell, Counts]:
    """Returns the sums of days, which take little memory."""
    days: dict[Cell, Counts] = {}
    for cell, counts in cells.items():
        add_to(days, {Cell(cell.project, cell.hour // 24 * 24, ""): counts})
    return days


def add(connection: sqlite3.Connection, cell: Cell, counts: Counts) -> int:
    """Returns the number of this change."""
    next_seq = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'seq' RETURNING value"
    ((seq,),) = connection.execute(next_seq).fetchall()
    connection.execute(_ADD, (*cell, *_values(counts), int(seq), MAX_COUNT))
    return int(seq)


def _values(counts: Counts) -> Iterator[int]:
    return (min(getattr(counts, name), MAX_COUNT) for name in COLUMNS)
