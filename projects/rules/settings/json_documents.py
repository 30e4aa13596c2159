"""Reads JSON from forms, and checks that every database can store it."""

import json
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

from accounts.json_names import RepeatedNameError, refuse_repeated_names

DEPTH_LIMIT = 32
"""The same limit as for request bodies, because the code that walks through a document is recursive."""

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that PostgreSQL cannot store in JSON, or that cannot be encoded in a response."""

_TOO_LARGE = "It contains a number that is too large, or is not one."
_TOO_DEEP = f"It is nested more than {DEPTH_LIMIT} levels deep."


class UnusableJSONError(json.JSONDecodeError):
    """JSON that can be read but not kept. Its text is a sentence, because no place in the document is at fault."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "", 0)

    def __str__(self) -> str:
        return self.msg


class FormJSONDecoder(json.JSONDecoder):
    """Raises the one error that Django's form field expects, no matter in which way the text is not JSON."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, object_pairs_hook=refuse_repeated_names)

    def decode(self, s: str, *args: Any) -> Any:
        try:
            document = super().decode(s, *args)
        except json.JSONDecodeError:
            raise
        except RepeatedNameError as error:
            name = UNSTORABLE.sub("?", error.name[:64])
            raise UnusableJSONError(f"An object has the name “{name}” twice. Keep one.") from None
        except RecursionError:
            raise UnusableJSONError(_TOO_DEEP) from None
        except ValueError:  # thousands of digits
            raise UnusableJSONError(_TOO_LARGE) from None
        if reason := find_unstorable(document):  # the page that shows the form again could not be encoded
            raise UnusableJSONError(reason)
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
            return _TOO_LARGE
        if any(isinstance(value, str) and UNSTORABLE.search(value) for value in level):
            return "It holds a character that cannot be stored."
        level = [inner for value in level if isinstance(value, dict | list) for inner in _parts(value)]
        if not level:
            return None
    return _TOO_DEEP


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return [*value.keys(), *value.values()] if isinstance(value, dict) else value
