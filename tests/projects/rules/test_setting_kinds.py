"""The field for each setting of a type: every form of schema gets one, and no value is lost in it."""

import json
from typing import Any

import pytest

from projects.rules.settings.berth_settings import OWN_SETTINGS
from projects.rules.settings.kinds import Kind, Setting
from projects.rules.settings.schema import defaults_of, settings_of
from projects.rules.settings.validator import SettingsValidator

pytestmark = pytest.mark.one_database

PARTS: list[tuple[Any, Kind]] = [
    ({"type": "string"}, Kind.TEXT),
    ({"type": "string", "maxLength": 255}, Kind.TEXT),
    ({"type": "string", "maxLength": 256}, Kind.LINES),
    ({"type": ["string", "null"]}, Kind.TEXT),
    ({"type": ["null", "integer"]}, Kind.INTEGER),
    ({"type": "integer", "minimum": 1, "maximum": 7}, Kind.INTEGER),
    ({"type": "number"}, Kind.NUMBER),
    ({"type": "boolean"}, Kind.CHOICE),
    ({"enum": ["a", "b"]}, Kind.CHOICE),
    ({"enum": [1, "1", True, 1.5, {"a": []}, None]}, Kind.CHOICE),
    ({"const": 7}, Kind.CHOICE),
    ({"type": "array", "items": {"type": "string"}}, Kind.LIST),
    ({"type": "array", "items": {"type": "integer"}}, Kind.JSON),
    ({"type": "array", "items": {"type": "object"}}, Kind.JSON),
    ({"type": "array"}, Kind.JSON),
    ({"type": "object", "properties": {"url": {"type": "string"}}}, Kind.JSON),
    ({"type": ["string", "integer"]}, Kind.JSON),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Kind.JSON),
    ({"$ref": "#/$defs/word"}, Kind.TEXT),
    ({"$ref": "#/$defs/chain"}, Kind.TEXT),
    ({"$ref": "#/$defs/loop"}, Kind.JSON),
    ({"$ref": "#/$defs/none"}, Kind.JSON),
    ({"$ref": 7, "type": "string"}, Kind.TEXT),
    ({}, Kind.JSON),
    (True, Kind.JSON),
    (7, Kind.JSON),
    ({"type": "string", "title": 7, "description": [], "maxLength": "x"}, Kind.TEXT),
    ({"type": []}, Kind.JSON),
    ({"type": "wish"}, Kind.JSON),
    ({"enum": []}, Kind.CHOICE),
]
DEFS = {"word": {"type": "string"}, "chain": {"$ref": "#/$defs/word"}, "loop": {"$ref": "#/$defs/loop"}}

VALUES: list[Any] = [
    "a", "b", "two words", " a ", "two\nlines", "7", "true", "", " ", "é\U0001f600", '{"a": 1}', "@x, @y",
    0, 1, 7, -3, 1.5, 10**19, True, False, [], ["a"], ["a", "b c"], ["a\nb"], ["", " "], [7, "@a"], [1, 2],
    [[1]], [None], {}, {"a": {"b": [1, "x"]}}, {"url": "http://x"},
]  # fmt: skip


def make(part: Any) -> Setting:
    (setting,) = settings_of({"properties": {"x_y": part}, "$defs": DEFS, "additionalProperties": False})
    return setting


@pytest.mark.parametrize(
    ("part", "kind"), PARTS, ids=lambda value: json.dumps(value) if not isinstance(value, Kind) else value
)
def test_every_schema_has_a_form_field_that_loses_no_value(part: Any, kind: Kind) -> None:
    """A field's text is read as the same value, apart from spaces, which the form ignores as well."""
    setting = make(part)
    assert setting.kind == kind
    assert setting.title == "X y"
    for value in VALUES:
        fitting = setting.for_value(value)
        shown = fitting.show(value)
        read = fitting.read(shown.replace("\n", "\r\n"))
        if fitting.kind in (Kind.JSON, Kind.CHOICE):
            assert json.dumps(read) == json.dumps(value), f"{value!r} became {read!r}"
            assert fitting.kind is Kind.JSON or shown in dict(fitting.choices)
        else:
            assert fitting.show(read).split() == shown.split(), f"{value!r} became {read!r}"


@pytest.mark.parametrize(("part", "text", "value"), [
    ({"type": "integer"}, " 7 ", 7),
    ({"type": "integer"}, "seven", "seven"),
    ({"type": "integer"}, "7.5", 7.5),
    ({"type": "number"}, "-1e3", -1000.0),
    ({"type": "number"}, "nan", "nan"),
    ({"type": "number"}, "1e999", "1e999"),
    ({"type": "number"}, "9" * 5000, "9" * 5000),
    ({"type": "boolean"}, "true", True),
    ({"enum": [1, "1"]}, '"1"', "1"),
    ({"type": "array", "items": {"type": "string"}}, "a\r\n\r\n b c \r\n", ["a", "b c"]),
    ({"type": "array", "items": {"type": "string"}}, "\r\n", None),
    ({"type": "string"}, "   ", None),
    ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
])  # fmt: skip
def test_typed_text_is_parsed_by_kind_or_left_to_the_schema(part: Any, text: str, value: Any) -> None:
    assert make(part).read(text) == value


@pytest.mark.parametrize("text", ["{", "nonsense", '"\\ud800"', "NaN", "[" * 5000, "1e999", '"\\u0000"'])
def test_invalid_json_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        make({"type": "object"}).read(text)


def test_berth_s_settings_come_first_and_then_the_required_ones() -> None:
    schema = {
        "properties": {
            "zeal": {},
            "age": {"title": "Years"},
            "need": {},
            "model": {},
            "allowed_users": {},
            "instructions": {},
        },
        "required": ["need"],
    }
    assert [each.name for each in settings_of(schema)] == [
        "instructions", "model", "allowed_users", "need", "age", "zeal",
    ]  # fmt: skip
    assert [each.name for each in settings_of(schema) if each.is_required] == ["need"]


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({}, {"instructions", "model", "allowed_users"}),
        (True, {"instructions", "model", "allowed_users"}),
        (None, {"instructions", "model", "allowed_users"}),
        (False, set()),
        ({"additionalProperties": False}, set()),
        ({"properties": {}}, {"instructions", "model", "allowed_users"}),
        ({"properties": []}, {"instructions", "model", "allowed_users"}),
        ({"properties": {"a": False, "b": True, "model": False}}, {"b", "instructions", "allowed_users"}),
        ({"properties": {"a": {}}, "required": 7, "additionalProperties": False}, {"a"}),
    ],
)
def test_a_schema_without_properties_leaves_berth_s_settings(schema: Any, names: set[str]) -> None:
    assert {each.name for each in settings_of(schema)} == names


def test_all_kinds_of_berths_own_settings_are_read_as_they_are_checked() -> None:
    for setting in settings_of(OWN_SETTINGS):
        assert setting.kind in (Kind.LINES, Kind.TEXT, Kind.LIST, Kind.CHOICE)
    (users,) = (each for each in settings_of(OWN_SETTINGS) if each.name == "allowed_users")
    read = {"allowed_users": users.read("@alice_a, 12345\r\n@bob_b")}
    assert read == {"allowed_users": ["@alice_a", "12345", "@bob_b"]}
    assert SettingsValidator(OWN_SETTINGS).is_valid(read)


@pytest.mark.parametrize("part", [True, {}, {"description": "Mine."}, 7, {"default": "x"}])
def test_berth_s_rules_apply_to_settings_that_a_schema_leaves_open(part: Any) -> None:
    found = {
        each.name: each.kind for each in settings_of({"properties": dict.fromkeys(OWN_SETTINGS["properties"], part)})
    }
    assert found == {"instructions": "lines", "model": "text", "allowed_users": "list", "provider": "choice"}


def test_defaults_are_those_that_the_schema_names() -> None:
    schema = {
        "properties": {"a": {"default": 0}, "b": {}, "c": {"$ref": "#/$defs/d"}},
        "$defs": {"d": {"default": "x"}},
    }
    assert defaults_of(schema) == {"a": 0, "c": "x"}
    assert defaults_of(False) == {}
