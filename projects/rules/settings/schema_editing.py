"""Changes one setting in an agent type's JSON Schema, as a form shows it. Leaves keywords that it does not know."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from projects.rules.settings.kinds import Kind, Setting
from projects.rules.settings.schema import settings_of


class Shape(StrEnum):
    """The shape of a setting's value."""

    TEXT = "text"
    LINES = "lines"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    LIST = "list"


LABELS = {
    Shape.TEXT: "Text of one line",
    Shape.LINES: "Long text",
    Shape.INTEGER: "Whole number",
    Shape.NUMBER: "Number",
    Shape.SWITCH: "Yes or no",
    Shape.CHOICE: "One of several texts",
    Shape.LIST: "List of texts",
}
_WORDS: dict[Shape, dict[str, Any]] = {
    Shape.TEXT: {"type": "string", "maxLength": 255},
    Shape.LINES: {"type": "string", "maxLength": 4000},
    Shape.INTEGER: {"type": "integer"},
    Shape.NUMBER: {"type": "number"},
    Shape.SWITCH: {"type": "boolean"},
    Shape.CHOICE: {"type": "string"},
    Shape.LIST: {"type": "array", "items": {"type": "string", "maxLength": 1000}, "maxItems": 100},
}
"""The keywords of each shape. The limits are for settings that are new or get another shape."""

_TYPED = {"title", "description", "default", "minimum", "maximum", "enum"}
"""The keywords that the form replaces."""

LARGEST = 10**20
"""The largest number that a setting may be or name."""

_SHAPES = {
    Kind.TEXT: Shape.TEXT, Kind.LINES: Shape.LINES, Kind.INTEGER: Shape.INTEGER, Kind.NUMBER: Shape.NUMBER,
    Kind.LIST: Shape.LIST,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A setting as a form shows it. `default` is the text as people type it; empty if there is none."""

    name: str
    shape: Shape
    title: str = ""
    description: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    is_required: bool = False


def find_shape(setting: Setting) -> Shape | None:
    """Returns the shape of a setting, or None if only JSON can describe it."""
    if setting.kind is not Kind.CHOICE:
        return _SHAPES.get(setting.kind)
    values = [json.loads(value) for value, _ in setting.choices]
    if values == [True, False]:
        return Shape.SWITCH
    return Shape.CHOICE if values and all(isinstance(value, str) for value in values) else None


def read_setting(schema: Any, name: str) -> Edited | None:
    """Returns the setting as a form shows it. Returns None if there is none or only JSON can describe it."""
    part = parts_of(schema).get(name)
    setting = next((each for each in settings_of(schema) if each.name == name), None)
    if setting is None or not isinstance(part, Mapping) or not {"$ref", "const"}.isdisjoint(part):
        return None
    if setting.holds_credentials:
        return None  # a changed setting would lose the mark, and the agent would get the credentials
    shape, texts = find_shape(setting), {word: part.get(word, "") for word in ("title", "description")}
    if shape is None or not all(isinstance(text, str) for text in texts.values()):
        return None
    return Edited(
        name=name,
        shape=shape,
        **texts,
        default=_show_default(setting, shape),
        choices=tuple(json.loads(value) for value, _ in setting.choices) if shape is Shape.CHOICE else (),
        minimum=_decimal(setting.limits.get("minimum")),
        maximum=_decimal(setting.limits.get("maximum")),
        is_required=setting.is_required,
    )


def put_setting(schema: Any, edited: Edited) -> dict[str, Any]:
    """Returns the schema with this setting instead of the one with its name.

    Raises `ValueError` with a sentence for the staff.
    """
    whole, parts = _copy(schema), parts_of(schema)
    before = read_setting(schema, edited.name)
    is_as_before = before is not None and before.shape is edited.shape
    old = parts[edited.name] if is_as_before else _WORDS[edited.shape]
    part = {word: value for word, value in old.items() if word not in _TYPED}
    part |= {word: value for word in ("title", "description") if (value := getattr(edited, word))}
    if edited.shape in {Shape.INTEGER, Shape.NUMBER}:
        limits = {"minimum": edited.minimum, "maximum": edited.maximum}
        part |= {word: _as_number(value) for word, value in limits.items() if value is not None}
    if edited.shape is Shape.CHOICE:
        part["enum"] = [*edited.choices, *([None] if None in old.get("enum", ()) else [])]
    if before is not None and is_as_before and edited.default == before.default and "default" in old:
        part["default"] = old["default"]
    elif edited.default:
        part["default"] = _read_default(edited)
    return _with(whole, {**parts, edited.name: part}, edited.name, is_required=edited.is_required)


def drop_setting(schema: Any, name: str) -> dict[str, Any]:
    """Returns the schema without this setting."""
    parts = {key: part for key, part in parts_of(schema).items() if key != name}
    return _with(_copy(schema), parts, name, is_required=False)


def _with(whole: dict[str, Any], parts: dict[str, Any], name: str, *, is_required: bool) -> dict[str, Any]:
    found = whole.get("required")
    required = [each for each in found if each != name] if isinstance(found, list) else []
    whole |= {"type": "object", "properties": parts, "required": [*required, *([name] if is_required else [])]}
    if not whole["required"]:
        del whole["required"]
    return whole


def _copy(schema: Any) -> dict[str, Any]:
    return dict(schema) if isinstance(schema, Mapping) else {}


def parts_of(schema: Any) -> dict[str, Any]:
    """Returns the schema of each setting by name."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    return dict(named) if isinstance(named, Mapping) else {}


def _show_default(setting: Setting, shape: Shape) -> str:
    if setting.default is None:
        return ""
    if shape is Shape.SWITCH:
        return "yes" if setting.default else "no"
    return str(setting.default) if shape is Shape.CHOICE else setting.show(setting.default)


def _read_default(edited: Edited) -> Any:
    text = edited.default.replace("\r\n", "\n").strip()
    match edited.shape:
        case Shape.SWITCH:
            if text.lower() not in {"yes", "no"}:
                raise ValueError("Type yes or no.")
            return text.lower() == "yes"
        case Shape.INTEGER | Shape.NUMBER:
            try:
                return _as_number(Decimal(text))
            except InvalidOperation:
                raise ValueError("Type a number.") from None
        case Shape.LIST:
            return [line.strip() for line in text.split("\n") if line.strip()]
        case _:
            return text


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _as_number(value: Decimal) -> int | float:
    if not value.is_finite() or abs(value) > LARGEST:
        raise ValueError("Type a number of at most 20 digits.")
    return int(value) if value == value.to_integral_value() else float(value)
