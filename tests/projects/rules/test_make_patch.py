"""The values in the form of a change are stored as typed, or one sentence says why not."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.dashboard.forms.setting_fields import NULL_INSIDE, SettingFields
from projects.rules.settings.merge_patch import is_same_json, make_patch, merge_patch

SCHEMA: Any = {"properties": {"any": {}}, "additionalProperties": False}
TEXTS = st.sampled_from(["a", "b", "c"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([0.0, 1.0, ""]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
VALUES: list[Any] = [
    None, True, 1, 1.0, 0, False, "", [], [1], [True], {}, {"a": 1}, {"a": True}, {"a": 1, "b": 2}, {"a": None},
    {"a": {"b": None}}, {"a": [{"b": None}]}, {"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}, {"headers": {"a": 1}},
]  # fmt: skip


def check(stored: Any, typed: Any) -> None:
    before: dict[str, Any] = {} if stored is None else {"any": stored}
    fields = SettingFields(SCHEMA, before, taken=())
    sent = {"any": json.dumps(typed)}
    after = merge_patch(before, fields.patch(sent)).get("any")
    told = fields.find_unpatchable(sent)
    assert bool(told) != is_same_json(after, typed)
    assert told in ({}, {"any": NULL_INSIDE})
    assert not told or "null" in json.dumps(typed)


@pytest.mark.parametrize(("stored", "typed"), list(itertools.product(VALUES, VALUES)))
def test_each_of_these_becomes_each_other(stored: Any, typed: Any) -> None:
    check(stored, typed)


@given(JSON, JSON)
def test_any_value_becomes_any_other(stored: Any, typed: Any) -> None:
    check(stored, typed)


@given(JSON)
def test_the_same_again_changes_nothing(value: Any) -> None:
    stored = {} if value is None else {"any": value}
    assert SettingFields(SCHEMA, stored, taken=()).patch({"any": json.dumps(value)}) == {}


def test_a_patch_holds_only_what_differs() -> None:
    before = {"headers": {"a": 1, "b": 2}, "kept": [1]}
    assert make_patch(before, {"headers": {"a": 1}, "kept": [1]}) == {"headers": {"b": None}}
