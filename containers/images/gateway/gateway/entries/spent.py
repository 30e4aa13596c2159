"""A project's spending in a day or a month, which the service has added up from the reports of one store. Pure."""

import re
from dataclasses import dataclass

from gateway.entries.fields import EntryError, read_matching, read_numbers, read_object

_STORE = re.compile(r"[\x21-\x7e]{1,64}")
_PERIOD = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)
_COUNTS = ("tokens", "money")


@dataclass(frozen=True, slots=True)
class Spent:
    store: str
    period: str
    """2026-11-22 for a day and 2026-11 for a month."""
    tokens: int
    money: int


def read_spent(value: object) -> tuple[Spent, ...]:
    """Raises EntryError."""
    if not isinstance(value, list):
        raise EntryError("spent must be a list.")
    return tuple(map(_read, value))


def _read(value: object) -> Spent:
    given = dict(read_object(value, "spent"))
    store = read_matching(given.pop("store", None), _STORE, "spent.store")
    period = read_matching(given.pop("period", None), _PERIOD, "spent.period")
    counts = read_numbers(given, "spent", _COUNTS)
    return Spent(store, period, counts.get("tokens", 0), counts.get("money", 0))
