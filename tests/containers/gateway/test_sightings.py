"""What the service reads of a gateway's sightings."""

import json
from dataclasses import replace
from typing import Any

import pytest

from containers.errors import EngineError
from containers.gateway.protocol import GatewayClient
from containers.gateway.sightings import Look, Sighting

pytestmark = pytest.mark.one_database

NOTHING = Sighting(*[None] * len(Sighting.__slots__))


def look(**answer: Any) -> Look:
    class Told:
        def exchange(self, line: bytes, *, within: float) -> bytes:
            return json.dumps({"ok": True, "began": 1.0, **answer}).encode() + b"\n"

        def prepare(self, *, within: float) -> None:
            raise NotImplementedError

    return GatewayClient(Told()).look()


def test_facts_are_read() -> None:
    facts = {"key": {"refused": True, "at": 5}, "humour": {"refused": None, "at": 1.5}}
    found = look(now=9, seen={"one": {"facts": facts}})
    assert found.now == 9.0
    assert found.sightings["one"].facts == {"key": (True, 5), "humour": (None, 1.5)}


def test_an_older_gateway_tells_no_facts_and_not_its_time() -> None:
    assert look(seen={"one": {"last_poll": 5.0}}) == Look({"one": replace(NOTHING, last_poll=5.0)}, None, 1.0, "")


@pytest.mark.parametrize(
    "facts", [5, [], {"key": 5}, {"key": {}}, {"key": {"refused": 1, "at": 5.0}}, {"key": {"refused": True, "at": "5"}}]
)
def test_junk_for_facts_is_an_error_of_the_engine(facts: object) -> None:
    with pytest.raises(EngineError):
        look(seen={"one": {"facts": facts}})


def test_all_moments_move_together() -> None:
    endings = ("_at", "_since", "_poll", "_reached", "_room")
    moments = {name: 100.0 for name in Sighting.__slots__ if name.endswith(endings)}
    told = {**moments, "astray": 7, "facts": {"key": {"refused": False, "at": 100.0}}}
    found = look(seen={"one": told}).sightings["one"]
    moved = found.earlier(60)
    assert {name: getattr(moved, name) for name in moments} == dict.fromkeys(moments, 40.0)
    assert moved.facts == {"key": (False, 40.0)}
    assert (moved.astray, moved.telegram_status) == (7, None)
    assert moved.earlier(-60) == found
    assert NOTHING.earlier(60) == NOTHING
