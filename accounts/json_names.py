"""Refuses JSON objects that have a name twice. Programs differ in which of the values they take (RFC 8259, 4)."""

from typing import Any


class RepeatedNameError(ValueError):
    """`name` can have any length, and half a surrogate pair."""

    def __init__(self, name: str) -> None:
        super().__init__("An object has a name twice.")
        self.name = name


def refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Is an `object_pairs_hook` for `json.loads`. Raises `RepeatedNameError`."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedNameError(name)
        found[name] = value
    return found
