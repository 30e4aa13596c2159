"""Finds a project by its name, its id or the beginning of either."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID

from berth_cli.api import Api
from berth_cli.documents import as_rows, text
from berth_cli.errors import CommandError, UsageError

MOST_NAMED = 5
"""Maximum number of candidates in a sentence."""


def path_of(project_id: str, *more: str) -> str:
    return "/".join(["projects", quote(project_id, safe=""), *more])


def find_project(api: Api, wanted: str, *, whole: bool = False) -> str:
    """Returns the project's id. A whole id is not looked up, because the API says whether it exists.

    With `whole`, the beginning of a name or an id is not enough. Otherwise a script that deletes twice could delete
    another project.
    """
    if _is_id(wanted):
        return wanted.lower()
    rows = as_rows(api.call("GET", "projects").content)
    found = [row for row in rows if text(row, "name") == wanted]
    if not found and not whole:
        lowered = wanted.lower()
        found = [row for row in rows if any(text(row, field).lower().startswith(lowered) for field in ("name", "id"))]
    if len(found) == 1:
        return text(found[0], "id")
    if not found:
        among = "has this whole name or id" if whole else "has a name or an id that begins so"
        raise CommandError(f"You have no project “{wanted}”: none {among}. `berth list` shows your projects.")
    raise UsageError(f"“{wanted}” may be {_name_some(found)}. Type more of the name, or the id.")


def find_all(api: Api, wanted: list[str], *, whole: bool = False) -> dict[str, str]:
    """Returns the ids with the words that the user typed, each once. All are found before anything is done to the
    first.
    """
    return {find_project(api, each, whole=whole): each for each in wanted}


def _name_some(rows: list[dict[str, Any]]) -> str:
    named = [f"{text(row, 'name')} ({text(row, 'id')[:13]})" for row in rows[:MOST_NAMED]]
    more = f" or {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return " or ".join(named) + more


def _is_id(wanted: str) -> bool:
    try:
        return str(UUID(wanted)) == wanted.lower()
    except ValueError:
        return False
