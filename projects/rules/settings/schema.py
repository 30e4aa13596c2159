"""Reads the settings of an agent type from its JSON Schema, for forms."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from projects.rules.settings.berth_settings import OWN_SETTINGS, may_be_default
from projects.rules.settings.keyed_servers import SCHEMA_WORD
from projects.rules.settings.kinds import Kind, Setting

FIRST = ("instructions", "model", "allowed_users")
"""Berth's own settings, in their order on a form.

All others follow by title, because PostgreSQL does not keep the order of names in a schema.
"""

ONE_LINE = 255
"""The longest text, in characters, that gets a field of one line."""

REFERENCES = 16
"""The longest chain of references that is followed, because a schema may refer to itself."""


def settings_of(schema: Any) -> list[Setting]:
    """Returns the schema's settings in the order of the form, with Berth's own if the schema does not exclude them."""
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = frozenset(required) if isinstance(required, list) else frozenset()
    found = [_describe(name, part, is_required=name in needed) for name, part in _properties_of(schema)]
    return sorted(found, key=_place)


def _properties_of(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the names of the settings with their schemas, in which references are followed."""
    whole = schema if isinstance(schema, Mapping) else {}
    named = whole.get("properties")
    properties = dict(named) if isinstance(named, Mapping) else {}
    if schema is not False and whole.get("additionalProperties") is not False:
        properties = dict.fromkeys(FIRST, True) | properties
    for name, part in properties.items():
        if part is not False:
            yield name, {**_own(name), **_resolve(part, whole)}


def _own(name: str) -> Mapping[str, Any]:
    """Returns Berth's own rules for a setting, which apply under every schema; empty if Berth has none."""
    found: Mapping[str, Any] = OWN_SETTINGS["properties"].get(name, {})
    return found


def _place(setting: Setting) -> tuple[Any, ...]:
    """Returns the sort key on a form. Credentials come after the addresses that they belong to."""
    rank = FIRST.index(setting.name) if setting.name in FIRST else len(FIRST)
    return rank, setting.holds_credentials, not setting.is_required, setting.title.lower(), setting.name


def _resolve(part: Any, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a property's schema, with the keywords of the schemas in the same document that it refers to."""
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
    """Returns the only type that it accepts besides null, or an empty text if there is not exactly one."""
    found = part.get("type")
    types = [each for each in found if each != "null"] if isinstance(found, list) else [found]
    return str(types[0]) if len(types) == 1 and isinstance(types[0], str) else ""


def _is_of_texts(items: Any) -> bool:
    """Returns whether every entry may be a text, possibly among other types."""
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
    """Returns every default of the schema by setting."""
    found = ((name, part.get("default")) for name, part in _properties_of(schema))
    return {name: default for name, default in found if default is not None}


def defaults_of(schema: Any) -> dict[str, Any]:
    """Returns the values of settings that are not set. Skips defaults that Berth cannot use."""
    return {name: value for name, value in all_defaults_of(schema).items() if may_be_default(name, value)}
