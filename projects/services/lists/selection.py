"""Filters and orders an owner's projects, for the API and the pages alike.

A status is derived and never stored, so all rows of the owner are read and their statuses derived before filtering.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from projects.rules.search import fold, is_found
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.urgency import find_rank, needs_attention

LONGEST_TEXT = 100
"""The maximum length of a search text."""

NEWEST_FIRST, OLDEST_FIRST, TROUBLE_FIRST = "-created_at", "created_at", "trouble"
SORTS = (NEWEST_FIRST, OLDEST_FIRST, "name", "-name", "updated_at", "-updated_at", "status", "-status", TROUBLE_FIRST)
"""The orders. A minus reverses them."""

_LEVELS = ("error", "warning", "info")

Row = TypeVar("Row")
Key = tuple[str, str]


class Known(NamedTuple, Generic[Row]):
    row: Row
    facts: Facts
    status: Status
    rank: int

    @property
    def needs_attention(self) -> bool:
        return needs_attention(self.rank)


class Selection(NamedTuple, Generic[Row]):
    """`found` are the rows that match the text, with any status; `chosen` are the listed ones, each with its key."""

    found: Sequence[Known[Row]]
    chosen: Sequence[tuple[Key, Known[Row]]]


def with_statuses(rows: Iterable[tuple[Row, Facts]]) -> list[Known[Row]]:
    known = []
    for row, facts in rows:
        status = derive_status(facts)
        known.append(Known(row, facts, status, find_rank(status, facts)))
    return known


def select(
    known: Sequence[Known[Any]],
    *,
    statuses: tuple[str, ...] = (),
    text: str = "",
    sort: str = NEWEST_FIRST,
    read_bots: Callable[[], Mapping[UUID, str]] | None = None,
) -> Selection[Any]:
    """Filters and sorts the rows.

    `known` is newest first. `read_bots` returns the names of bots if rows lack them.
    """
    found = list(known) if not text else _search(known, text, read_bots() if read_bots else None)
    chosen = [each for each in found if not statuses or each.status in statuses]
    keyed = [(_key(each, sort), each) for each in chosen]
    if sort == TROUBLE_FIRST:
        keyed.sort(key=lambda pair: pair[0][0])  # the sort is stable, so equal rows stay newest first
    else:
        keyed.sort(key=itemgetter(0), reverse=sort.startswith("-"))
    return Selection(found, keyed)


def _search(known: Sequence[Known[Any]], text: str, bots: Mapping[UUID, str] | None) -> Sequence[Known[Any]]:
    found = []
    text = fold(text)
    for each in known:
        row = each.row
        bot = row.bot_username if bots is None else bots.get(row.id, "")
        if is_found(text, name=row.name, bot_username=bot, project_id=row.id):
            found.append(each)
    return found


def _key(known: Known[Any], sort: str) -> Key:
    """Returns the sort key: a text, and the id for rows with the same text."""
    row, status = known.row, known.status
    match sort.lstrip("-"):
        case "trouble":
            key = str(known.rank)
        case "name":
            key = row.name.casefold()
        case "status":
            key = f"{_LEVELS.index(status.traits.reason_level)} {status}"
        case column:
            key = f"{getattr(row, column):%Y-%m-%dT%H:%M:%S.%f}"
    return key, str(row.id)
