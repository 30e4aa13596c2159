"""JSON Merge Patch (RFC 7396): what a change of the settings makes of those that are stored."""

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


def find_changed_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of the settings that differ, sorted. Other than in Python, true is not 1 in JSON."""
    return sorted(name for name in {*before, *after} if _text(before, name) != _text(after, name))


def _text(settings: Mapping[str, Any], name: str) -> str | None:
    return json.dumps(settings[name], sort_keys=True) if name in settings else None
