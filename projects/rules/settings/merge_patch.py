"""JSON Merge Patch (RFC 7396), with which a request changes the stored settings."""

import json
from collections.abc import Mapping
from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """Returns the target with the patch applied: null removes, an object is merged, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def make_patch(before: Any, after: Any) -> Any:
    """Returns the patch that turns `before` into `after`. No merge patch can add a null to an object."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    removed = {name: None for name in before if name not in after}
    changed = {
        name: make_patch(before.get(name), after[name]) for name in find_changed_names(before, after) if name in after
    }
    return removed | changed


def is_same_json(one: Any, other: Any) -> bool:
    """Returns whether both are the same JSON. Unlike in Python, true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def find_changed_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Returns the sorted names of the settings that differ as JSON. Unlike in Python, true is not 1."""
    return sorted(name for name in {*before, *after} if _text(before, name) != _text(after, name))


def _text(settings: Mapping[str, Any], name: str) -> str | None:
    return json.dumps(settings[name], sort_keys=True) if name in settings else None
