"""The counts that a gateway reports."""

from dataclasses import dataclass
from typing import Any

from containers.errors import EngineUnavailableError
from containers.gateway.messages import GARBLED, object_of, whole

_COUNTS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The totals of one hour of one project and model. A later row for the same three replaces this one."""

    project: str
    hour: int
    """Hours since 1970, UTC."""
    model: str
    """Empty for usage that is no model call, such as messages of the bot."""
    messages: int
    requests: int
    errors: int
    estimated: int
    input: int
    output: int
    cached: int
    money: int


@dataclass(frozen=True, slots=True)
class UsagePage:
    store: str
    """The gateway's database file that the rows come from. In another one all totals start again from zero."""
    seq: int
    """The number from which to ask the next time."""
    rows: tuple[UsageRow, ...]
    has_more: bool


def read_page(answer: dict[str, Any]) -> UsagePage:
    """Raises EngineUnavailableError for an answer that is not a page of usage."""
    rows = answer.get("rows")
    if not isinstance(rows, list):
        raise EngineUnavailableError(GARBLED)
    page = tuple(_read_row(object_of(row)) for row in rows)
    return UsagePage(str(answer.get("store")), whole(answer.get("seq")), page, bool(answer.get("more")))


def _read_row(row: dict[str, Any]) -> UsageRow:
    counts = [whole(row.get(name)) for name in _COUNTS]
    return UsageRow(str(row.get("project")), whole(row.get("hour")), str(row.get("model")), *counts)
