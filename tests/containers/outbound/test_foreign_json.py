"""JSON from another server: what no honest server sends is refused, no matter where it is in a document."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from containers.outbound.foreign_json import read_json

pytestmark = pytest.mark.one_database

PLACES = ("{}", "[{}]", '{{"a": {}}}', '{{"a": [1, {{"b": {}}}]}}')
DEEP = 100_000
DISHONEST = {
    "NaN": "NaN",
    "infinity": "Infinity",
    "minus infinity": "-Infinity",
    "a float beyond all": "1e999",
    "a float far below": "-1e999",
    "an integer of 65 bits": str(2**64),
    "an integer below 64 bits": str(-(2**63) - 1),
    "an integer of 41 digits": "1" * 41,
    "an integer of 100,000 digits": "9" * DEEP,
    "a float of 100,000 digits": "9" * DEEP + ".5e0",
    "the first half of a pair": r'"\ud83d"',
    "the second half of a pair": r'"\uDE00"',
    "halves the other way round": r'"\ude00\ud83d"',
    "half a pair in a name": r'{"\ud83d": 1}',
    "lists in lists": "[" * DEEP + "]" * DEEP,
    "objects in objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "lists without an end": "[" * DEEP,
    "two documents": "1 2",
    "a comment": "/* */ 1",
    "a quote": "'a'",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", DISHONEST)
def test_json_that_no_honest_server_sends_is_refused(name: str, place: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it is all that it raises, whatever the matter is
        read_json(place.format(DISHONEST[name]).encode())


@pytest.mark.parametrize(
    "body", [b"\xff", b"\xed\xa0\xbd", '{"a": "é"}'.encode("latin-1"), b"\xef\xbb\xbf{}", "{}".encode("utf-16")]
)
def test_invalid_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the same
        read_json(body)


@pytest.mark.parametrize(
    "value",
    [
        2**64 - 1,
        -(2**63),
        0,
        1.5,
        1e308,
        True,
        None,
        "",
        "\N{GRINNING FACE}",
        "\\ud83d",
        {"a": [1, {"b": "é"}]},
        [[[[]]]],
    ],
)
def test_json_of_honest_servers_is_read(value: Any) -> None:
    for body in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert read_json(body.encode()) == value


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations that the garbage collector has scanned since the test began."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.enable()


LONG = b"[" + b",".join([b'{"labels":{"a":["b"]}}'] * 100_000) + b"]"


def test_a_long_document_is_read_without_repeated_garbage_collection(
    collections: list[int],
) -> None:
    rows = read_json(LONG)
    assert len(rows) == 100_000
    assert len(collections) < 5
    assert gc.isenabled()


def test_the_garbage_collector_runs_again_after_a_long_document_that_is_refused(collections: list[int]) -> None:
    with pytest.raises(ValueError, match="NaN"):
        read_json(LONG[:-1] + b",NaN]")
    assert gc.isenabled()


def test_a_garbage_collector_that_someone_else_turned_off_stays_off(collections: list[int]) -> None:
    gc.disable()
    read_json(LONG)
    assert not gc.isenabled()
