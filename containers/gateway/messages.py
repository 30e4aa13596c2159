"""How large a message to the gateway may be, and checks of what its answers contain."""

import json
from typing import Any

from containers.errors import EngineUnavailableError

LARGEST_MESSAGE = 8 * 1024 * 1024
"""Bytes of the entries in one message. The gateway reads messages of twice that."""

GARBLED = "The gateway gave an answer that Berth does not understand."


def in_parts(documents: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Returns the entries in parts that each fit into one message. One part without entries if there are none."""
    middle = len(documents) // 2
    if not middle or len(json.dumps(documents)) <= LARGEST_MESSAGE:
        return [documents]
    return [*in_parts(documents[:middle]), *in_parts(documents[middle:])]


def whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise EngineUnavailableError(GARBLED)
    return value


def object_of(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EngineUnavailableError(GARBLED)
    return value
