"""Reads what the API tells, no matter what it is: a field that is missing is empty, and nothing fails."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from berth_cli.errors import UnreachableError


def as_rows(told: Any) -> list[dict[str, Any]]:
    if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
        raise UnreachableError("The answer is not a list as Berth's are. Is this the address of an installation?")
    return told


def as_object(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise UnreachableError("The answer is not one of Berth's. Is this the address of an installation?")
    return told


def text(told: Any, *path: str) -> str:
    """What stands at the end of the path as text; empty where there is nothing."""
    found = value(told, *path)
    return found if isinstance(found, str) else "" if found is None or isinstance(found, (dict, list)) else str(found)


def value(told: Any, *path: str) -> Any:
    for name in path:
        told = told.get(name) if isinstance(told, dict) else None
    return told


def number(told: Any, *path: str) -> float | None:
    found = value(told, *path)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def moment(told: Any, *path: str) -> datetime | None:
    try:
        # Python 3.9 reads neither a Z nor a fraction of other than three or six digits.
        found = text(told, *path).replace("Z", "+00:00")
        return datetime.fromisoformat(found).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def seconds_between(told: Any, first: str, last: str) -> float | None:
    """Between two moments of one document, which are of one clock. None where one is missing, or they are swapped."""
    since, until = moment(told, first), moment(told, last)
    if since is None or until is None or until < since:
        return None
    return (until - since).total_seconds()
