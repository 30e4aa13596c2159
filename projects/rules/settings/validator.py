"""The JSON Schema validator for settings: strict about integers and the end of a text, and never slow."""

import json
import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend


def _pattern(_validator: Any, pattern: str, text: Any, _schema: Any) -> Iterator[ValidationError]:
    """In JSON Schema `$` matches only at the end of the text. In Python it also matches before a last line feed."""
    if pattern.endswith("$") and not pattern.endswith(r"\$"):
        pattern = pattern[:-1] + r"\Z"
    if isinstance(text, str) and not re.search(pattern, text):
        yield ValidationError("no match")


def _unique_items(_validator: Any, required: Any, items: Any, _schema: Any) -> Iterator[ValidationError]:
    """Compares JSON texts. The library compares every pair if types are mixed, which takes seconds for 16 KB."""
    if required and isinstance(items, list) and len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
        yield ValidationError("not unique")


def _is_integer(_checker: Any, value: Any) -> bool:
    """Accepts only `int` itself. JSON Schema takes 7.0 for an integer, but "7.0" is not a user id."""
    return type(value) is int


SettingsValidator = extend(  # type: ignore[no-untyped-call]  # the stubs leave it out
    Draft202012Validator,
    validators={"pattern": _pattern, "uniqueItems": _unique_items},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
