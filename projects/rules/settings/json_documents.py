"""Reads JSON from forms, and checks that every database can store it."""

import json
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

DEPTH_LIMIT = 32
"""The same limit as for request bodies, because the code that walks through a document is recursive."""

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that PostgreSQL cannot store in JSON, or that cannot be encoded in a response."""


class FormJSONDecoder(json.JSONDecoder):
    """Raises the one error that Django's form field expects, no matter in which way the text is not JSON."""

    def decode(self, s: str, *args: Any) -> Any:
        try:
            document = super().decode(s, *args)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:  # thousands of digits or of brackets
            raise json.JSONDecodeError(type(error).__name__, "", 0) from None
        if reason := find_unstorable(document):  # the page that shows the form again could not be encoded
            raise json.JSONDecodeError(reason, "", 0)
        return document


class FormJSONEncoder(json.JSONEncoder):
    """Writes indented JSON, each name on a line of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "indent": 2})


def find_unstorable(document: Any) -> str | None:
    """Returns a sentence that says why a database cannot keep the document, or None."""
    level: list[Any] = [document]
    for _ in range(DEPTH_LIMIT + 1):
        if any(isinstance(value, float) and not isfinite(value) for value in level):
            return "It holds a number that is too large or none."
        if any(isinstance(value, str) and UNSTORABLE.search(value) for value in level):
            return "It holds a character that cannot be stored."
        level = [inner for value in level if isinstance(value, dict | list) for inner in _parts(value)]
        if not level:
            return None
    return f"It is nested more than {DEPTH_LIMIT} levels deep."


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return [*value.keys(), *value.values()] if isinstance(value, dict) else value
