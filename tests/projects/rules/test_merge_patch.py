"""JSON Merge Patch, by the examples of RFC 7396 and by its algorithm."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.rules.settings.merge_patch import find_changed_names, merge_patch

# The examples of the RFC's appendix A.
EXAMPLES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
TEXTS = st.sampled_from(["a", "b", "c"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


@pytest.mark.parametrize(("target", "patch", "expected"), EXAMPLES)
def test_the_examples_of_the_rfc_hold(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


@given(OBJECTS, OBJECTS)
def test_a_merge_keeps_unnamed_values_removes_nulls_and_leaves_its_input_unchanged(
    target: dict[str, Any], patch: dict[str, Any]
) -> None:
    given_target, given_patch = copy.deepcopy(target), copy.deepcopy(patch)
    merged = merge_patch(target, patch)
    assert (target, patch) == (given_target, given_patch)
    assert {name: merged[name] for name in target if name not in patch} == {
        name: value for name, value in target.items() if name not in patch
    }
    assert all((name in merged) == (value is not None) for name, value in patch.items())
    assert merge_patch(merged, patch) == merged


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 0}, {"a": False}, ["a"]),
        ({"a": 1}, {"a": 1.0}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ({"b": 1, "a": [1]}, {"c": 1, "a": [2]}, ["a", "b", "c"]),
    ],
)
def test_exactly_the_changed_names_are_listed(before: Any, after: Any, names: list[str]) -> None:
    assert find_changed_names(before, after) == names
