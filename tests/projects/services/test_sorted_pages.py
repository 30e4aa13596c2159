"""Cursors of sorted lists: foreign ones are refused, and a page ends where it should."""

import base64
import json
from random import Random

import pytest

from projects.services.lists.sorted_pages import Position, cut_page

pytestmark = pytest.mark.one_database

GOOD = Position("-name", is_before=True, key=("straße\ud800", "id"))


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def test_a_cursor_is_decoded_as_it_was_encoded() -> None:
    assert Position.read(GOOD.spell()) == GOOD


NONE_OF_OURS = [
    "", "x", "=", "ü", "\0", GOOD.spell() + "=", GOOD.spell() + "A", GOOD.spell()[:-1], f" {GOOD.spell()}",
    "x" * 70_000,
    *(
        encoded(value)
        for value in (
            None, 1, "abcd", [], {}, ["name", True, "k"], ["name", 1, "k", "i"], ["name", True, "k", 1],
            ["name", True, ["k"], "i"], [1, True, "k", "i"], ["name", True, "k", "i", "x"],
            {"a": 1, "b": 2, "c": 3, "d": 4},
            ["name", None, "k", "i"],
        )
    ),
    base64.urlsafe_b64encode(b"[" * 60_000).decode(), base64.urlsafe_b64encode(b'["name", true, "k", "i"]').decode(),
    base64.urlsafe_b64encode(b"\xff\xfe").decode(),
]  # fmt: skip


@pytest.mark.parametrize("cursor", NONE_OF_OURS, ids=range(len(NONE_OF_OURS)))
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    assert Position.read(cursor) is None


@pytest.mark.parametrize("sort", ["name", "-name"])
def test_pages_of_any_size_from_any_place_are_the_rows_between(sort: str) -> None:
    draw = Random(7)
    for _ in range(300):
        keys = sorted({(draw.choice("aab"), str(draw.randrange(9))) for _ in range(draw.randrange(9))})
        rows = [(key, key) for key in (keys[::-1] if sort == "-name" else keys)]
        at, size = (draw.choice("abc"), str(draw.randrange(9))), draw.randrange(1, 5)
        after = [key for key, _ in rows if (key < at if sort == "-name" else key > at)]
        before = [key for key, _ in rows if (key > at if sort == "-name" else key < at)]
        page = cut_page(rows, sort=sort, position=Position(sort, is_before=False, key=at), size=size)
        assert page.rows == after[:size]
        assert [name for name, _ in page.others if name == "next"] == ["next"] * (len(after) > size)
        page = cut_page(rows, sort=sort, position=Position(sort, is_before=True, key=at), size=size)
        assert page.rows == before[-size:]
