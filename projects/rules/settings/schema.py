"""The settings of an agent type, read from its JSON Schema for the forms that ask for them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from projects.rules.settings.keyed_servers import SCHEMA_WORD
from projects.rules.settings.kinds import Kind, Setting
from projects.rules.settings.own import OWN_SETTINGS, may_be_default

FIRST = ("instructions", "model", "allowed_users")
"""Settings that Berth itself knows, in their order on a form.

PostgreSQL keeps no order of the names in a schema; others follow by their titles.
"""

ONE_LINE = 255
"""Characters that a field of one line is for. A longer text gets more lines."""

REFERENCES = 16
"""References that are followed one after the other. A schema may refer to itself."""


def settings_of(schema: Any) -> list[Setting]:
    """The settings that the schema names, in the order of the form, and those of Berth where it leaves them open."""
    whole = schema if isinstance(schema, Mapping) else {}
    named = whole.get("properties")
    properties = dict(named) if isinstance(named, Mapping) else {}
    if schema is not False and whole.get("additionalProperties") is not False:
        properties = dict.fromkeys(FIRST, True) | properties
    required = whole.get("required")
    needed = frozenset(required) if isinstance(required, list) else frozenset()
    found = [
        _describe(name, {**_own(name), **_resolve(part, whole)}, is_required=name in needed)
        for name, part in properties.items()
        if part is not False
    ]
    return sorted(found, key=_place)


def _own(name: str) -> Mapping[str, Any]:
    """What Berth asks of its own setting, which holds under every schema."""
    found: Mapping[str, Any] = OWN_SETTINGS["properties"].get(name, {})
    return found


def _place(setting: Setting) -> tuple[Any, ...]:
    """Credentials stand below the addresses that they are of."""
    rank = FIRST.index(setting.name) if setting.name in FIRST else len(FIRST)
    return rank, setting.holds_credentials, not setting.is_required, setting.title.lower(), setting.name


def _resolve(part: Any, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a property stands for: its own words, and those of what it refers to in the same document."""
    found = dict(part) if isinstance(part, Mapping) else {}
    for _ in range(REFERENCES):
        reference = found.pop("$ref", None)
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = whole
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        found = {**target, **found} if isinstance(target, Mapping) else found
    return found


def _describe(name: str, part: Mapping[str, Any], *, is_required: bool) -> Setting:
    kind = _kind_of(part)
    title, description = part.get("title"), part.get("description")
    limits = {word: part[word] for word in ("minimum", "maximum") if isinstance(part.get(word), int | float)}
    return Setting(
        name=name,
        title=title if isinstance(title, str) and title.strip() else _title_of(name),
        description=description if isinstance(description, str) else "",
        kind=kind,
        default=part.get("default"),
        is_required=is_required,
        choices=tuple(_choices(part)) if kind is Kind.CHOICE else (),
        limits=limits,
        holds_credentials=part.get(SCHEMA_WORD) is True,
    )


def _title_of(name: str) -> str:
    return name.replace("_", " ").strip().capitalize() or name


def _kind_of(part: Mapping[str, Any]) -> Kind:
    if isinstance(part.get("enum"), list) or "const" in part or _type_of(part) == "boolean":
        return Kind.CHOICE
    match _type_of(part):
        case "string":
            longest = part.get("maxLength")
            return Kind.LINES if isinstance(longest, int) and longest > ONE_LINE else Kind.TEXT
        case "integer":
            return Kind.INTEGER
        case "number":
            return Kind.NUMBER
        case "array" if _is_of_texts(part.get("items")):
            return Kind.LIST
        case _:
            return Kind.JSON


def _type_of(part: Mapping[str, Any]) -> str:
    """The one type that it takes beside null; an empty text where that is open."""
    found = part.get("type")
    types = [each for each in found if each != "null"] if isinstance(found, list) else [found]
    return str(types[0]) if len(types) == 1 and isinstance(types[0], str) else ""


def _is_of_texts(items: Any) -> bool:
    """Whether every entry may be a text, if only among others."""
    if not isinstance(items, Mapping):
        return False
    ways = items.get("anyOf")
    return any(map(_is_of_texts, ways)) if isinstance(ways, list) else _type_of(items) == "string"


def _choices(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    values = part.get("enum")
    if not isinstance(values, list):
        values = [part["const"]] if "const" in part else [True, False]
    for value in values:
        if value is not None:
            yield json.dumps(value, ensure_ascii=False), _in_words(value)


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def all_defaults_of(schema: Any) -> dict[str, Any]:
    """Every default of the schema, by its setting."""
    return {each.name: each.default for each in settings_of(schema) if each.default is not None}


def defaults_of(schema: Any) -> dict[str, Any]:
    """What each setting is that nobody sets. A default that Berth cannot use counts for nothing."""
    return {name: value for name, value in all_defaults_of(schema).items() if may_be_default(name, value)}
