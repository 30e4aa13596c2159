"""Reads fields of the API's documents. A missing field is empty, and nothing fails."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from berth_cli.errors import UnreachableError


def as_rows(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise UnreachableError("The answer is not a list from Berth. Is this the address of an installation?")
    return content


def as_object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise UnreachableError("The answer is not from Berth. Is this the address of an installation?")
    return content


def text(content: Any, *path: str) -> str:
    """Returns the value at the end of the path as text; empty if there is none."""
    found = value(content, *path)
    return found if isinstance(found, str) else "" if found is None or isinstance(found, (dict, list)) else str(found)


def value(content: Any, *path: str) -> Any:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def number(content: Any, *path: str) -> float | None:
    found = value(content, *path)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def moment(content: Any, *path: str) -> datetime | None:
    try:
        # Python 3.9 reads neither a Z nor a fraction of other than three or six digits.
        found = text(content, *path).replace("Z", "+00:00")
        return datetime.fromisoformat(found).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def seconds_between(content: Any, first: str, last: str) -> float | None:
    """Returns the seconds between two moments of one document, which come from one clock. None if one is missing or
    they are in the wrong order.
    """
    since, until = moment(content, first), moment(content, last)
    if since is None or until is None or until < since:
        return None
    return (until - since).total_seconds()
