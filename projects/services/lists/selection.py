"""Which of somebody's projects a list has, and in which order: the same for the API and the pages.

A status is derived and never stored, so that all rows of the owner are read and their statuses derived before any is
left out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from projects.rules.search import is_found
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.urgency import find_rank, needs_attention

LONGEST_TEXT = 100
"""Of a search."""

NEWEST_FIRST, OLDEST_FIRST, TROUBLE_FIRST = "-created_at", "created_at", "trouble"
SORTS = (NEWEST_FIRST, OLDEST_FIRST, "name", "-name", "updated_at", "-updated_at", "status", "-status", TROUBLE_FIRST)
"""The orders; with a minus the other way round."""

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
    """`found` are those that the text finds, of any status; `chosen` those that are listed, each with its key."""

    found: Sequence[Known[Row]]
    chosen: Sequence[tuple[Key, Known[Row]]]


def know(rows: Iterable[tuple[Row, Facts]]) -> list[Known[Row]]:
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
    """`known` is newest first, and `text` is casefolded. `read_bots` tells the names of bots where rows have none."""
    found = list(known) if not text else _search(known, text, read_bots() if read_bots else None)
    chosen = [each for each in found if not statuses or each.status in statuses]
    keyed = [(_key(each, sort), each) for each in chosen]
    if sort == TROUBLE_FIRST:
        keyed.sort(key=lambda pair: pair[0][0])  # stable: of equal ones the newest first
    else:
        keyed.sort(key=itemgetter(0), reverse=sort.startswith("-"))
    return Selection(found, keyed)


def _search(known: Sequence[Known[Any]], text: str, bots: Mapping[UUID, str] | None) -> Sequence[Known[Any]]:
    found = []
    for each in known:
        row = each.row
        bot = row.bot_username if bots is None else bots.get(row.id, "")
        if is_found(text, name=row.name, bot_username=bot, project_id=row.id):
            found.append(each)
    return found


def _key(known: Known[Any], sort: str) -> Key:
    """What decides the order: a text, and the id where two have the same."""
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
