"""How a form asks for a setting, and how a text stands for its value.

A setting that does not fit a text field, such as an object, is typed as JSON. The type's JSON Schema decides whether a
value is valid.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from projects.rules.settings.json_documents import FormJSONDecoder


class Kind(StrEnum):
    TEXT = "text"
    LINES = "lines"
    """A text of several lines."""
    INTEGER = "integer"
    NUMBER = "number"
    CHOICE = "choice"
    """One of several values, each as JSON, so that true, 1 and "1" differ."""
    LIST = "list"
    """Texts, one per line."""
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a type. `choices` are JSON texts with their labels; `default` is None if there is none."""

    name: str
    title: str
    description: str
    kind: Kind
    default: Any = None
    is_required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    holds_credentials: bool = False
    """Whether its texts end with credentials (`projects/rules/settings/keyed_servers.py`)."""

    def show(self, value: Any) -> str:
        """Returns the value as the field's text; empty if the setting is not set."""
        if value is None:
            return ""
        if self.kind in (Kind.CHOICE, Kind.JSON):
            return json.dumps(value, ensure_ascii=False, indent=None if self.kind is Kind.CHOICE else 2)
        if isinstance(value, list):
            return "\n".join(str(entry) for entry in value)
        return value if isinstance(value, str) else json.dumps(value)

    def for_value(self, value: Any) -> "Setting":
        """Returns this setting with a field that can show the value and reads the same value back."""
        if value is None or self.kind is Kind.JSON:
            return self
        if self.kind is Kind.CHOICE:
            known = self.show(value) in dict(self.choices)
            left = (self.show(value), f"{self.show(value)} (no longer offered)")
            return self if known else replace(self, choices=(*self.choices, left))
        if self.kind is Kind.TEXT and isinstance(value, str) and "\n" in value:
            return replace(self, kind=Kind.LINES)
        return self if self._holds(value) else replace(self, kind=Kind.JSON)

    def _holds(self, value: Any) -> bool:
        if self.kind is Kind.LIST:
            return isinstance(value, list) and all(_is_a_line(entry) for entry in value)
        if self.kind in (Kind.TEXT, Kind.LINES):
            return isinstance(value, str) and bool(value.strip())
        return isinstance(value, int | float) and not isinstance(value, bool)

    def read(self, text: str) -> Any:
        """Returns the value that the text stands for, or None if it is empty.

        A number field with another text returns that text, which the schema then refuses with a sentence. Raises
        `ValueError` if a field of JSON has a text that is not JSON.
        """
        text = text.replace("\r\n", "\n")
        if not text.strip():
            return None
        match self.kind:
            case Kind.LIST:
                return self._read_list(text)
            case Kind.INTEGER | Kind.NUMBER:
                return _read_number(text.strip())
            case Kind.CHOICE | Kind.JSON:
                return json.loads(text, cls=FormJSONDecoder)
            case _:
                return text.strip()

    def _read_list(self, text: str) -> list[str] | None:
        parts = re.split(r"[\s,]+", text) if self.name == "allowed_users" else text.split("\n")
        return [entry.strip() for entry in parts if entry.strip()] or None


def _is_a_line(entry: Any) -> bool:
    is_text = isinstance(entry, str) and bool(entry.strip()) and "\n" not in entry
    return is_text or (isinstance(entry, int) and not isinstance(entry, bool))


def _read_number(text: str) -> Any:
    try:
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,20}", text) else _finite(float(text))
    except (ValueError, OverflowError):
        return text


def _finite(number: float) -> float:
    if number - number != 0:  # infinite or not a number
        raise ValueError
    return number
