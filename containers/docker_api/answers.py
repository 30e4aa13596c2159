"""Reads engines' answers, and does not trust their form."""

from collections.abc import Mapping
from typing import Any

from containers.agent_reports import parse_time
from containers.docker_api.errors import understand_answer
from containers.vocabulary import Volume

_LARGEST_NUMBER = 2**31 - 1


def read_text(value: object) -> str:
    """Returns the text. Raises `TypeError` if it is not text or contains a NUL, which no database accepts."""
    if not isinstance(value, str) or "\x00" in value:
        raise TypeError
    return value


def read_labels(value: object) -> dict[str, str]:
    """Returns the labels that have a value. Berth leaves those empty that the image must not set."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError
    return {read_text(label): content for label, text in (value or {}).items() if (content := read_text(text))}


def read_number(value: object) -> int:
    """Returns the number, which must fit into 32 bits like all numbers of the engine. Raises `ValueError` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_NUMBER:
        raise ValueError
    return value


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def read_volumes(answer: Mapping[str, Any]) -> list[Volume]:
    """Reads the answer of GET /volumes."""
    with understand_answer():
        return [read_volume(each) for each in answer["Volumes"] or []]


def read_volume(answer: Mapping[str, Any]) -> Volume:
    """Reads the answer of GET /volumes/{name}."""
    with understand_answer():
        return Volume(
            name=read_text(answer["Name"]),
            labels=read_labels(answer["Labels"]),
            created_at=parse_time(answer["CreatedAt"]),
        )
