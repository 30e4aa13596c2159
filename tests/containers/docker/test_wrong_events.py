"""Events of an engine in which something is missing or wrong: Berth cannot read them, or reads the truth.

`tests/projects/watcher/test_wrong_events.py` has what the watcher makes of events that can be read, and are not true.
"""

import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.docker_api import events
from containers.errors import EngineUnavailableError
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL, EngineEvent
from tests.containers.docker.scripted_engine import ID, NAME
from tests.containers.wrong_fields import MISSING, WRONG, Place, changed, places_of, value_at

KEY = "00000000-0000-4000-8000-000000000001"
EVENT = {
    "status": "die", "id": ID, "from": "berth/x", "Type": "container", "Action": "die",
    "Actor": {"ID": ID, "Attributes": {**own_labels(), PROJECT_LABEL: KEY, "exitCode": "137", "name": NAME}},
    "scope": "local", "time": 1795875942, "timeNano": 1795875942123456789,
}  # fmt: skip
"""As Docker 20.10 and 26.1 send it."""

WITHOUT_MEANING = {("Actor", "Attributes", PROJECT_LABEL), ("Actor", "Attributes", "exitCode")}
"""An event of a container that has no project, and an end of which the engine does not know the code."""


def stream_of(sent: bytes) -> Any:
    class Response:
        raw = io.BufferedReader(io.BytesIO(sent))

        def close(self) -> None: ...

    return Response()


def line(event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


TRUE = EngineEvent(
    key=KEY, action="die", at=datetime(2026, 11, 28, 14, 25, 42, 123457, tzinfo=UTC), container_id=ID, exit_code=137
)


def heard_from(sent: bytes) -> list[EngineEvent]:
    """The events before the stream breaks off."""
    heard: list[EngineEvent] = []
    with suppress(EngineUnavailableError):
        heard.extend(events._read_all(stream_of(sent)))
    return heard


def test_the_event_is_read() -> None:
    assert heard_from(line(EVENT)) == [TRUE]


def test_a_field_that_is_missing_or_of_a_wrong_type_changes_nothing_that_is_read() -> None:
    """A number in place of the action was an event of an unknown kind, and the end of the agent went unheard."""
    cases = [(place, name) for place in places_of(EVENT) for name in WRONG if not is_meant(place, WRONG[name])]
    misread = [
        (place, name)
        for place, name in cases
        if any(heard != TRUE for heard in heard_from(line(changed(EVENT, place, WRONG[name]))))
    ]
    assert len(cases) > 100
    assert misread == []


def is_meant(place: Place, wrong: Any) -> bool:
    """Whether an engine may mean it: the type is right, or it has nothing to tell there."""
    if place in WITHOUT_MEANING and wrong is MISSING:
        return True
    return type(wrong) is type(value_at(EVENT, place))


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "half a line": lambda good: good[: len(good) // 2],
    "half a line, then a whole one": lambda good: good[: len(good) // 2] + good,
    "two in a line": lambda good: good.rstrip() + good,
    "no JSON": lambda _: b"nonsense\n",
    "not UTF-8": lambda good: good.replace(b"die", b"d\xffe"),
    "an unpaired surrogate": lambda good: good.replace(b"die", b"\\ud800"),
    "a null byte": lambda good: good.replace(KEY.encode(), b"\\u0000"),
    "nested too deeply": lambda _: b"[" * 100_000 + b"\n",
    "a line without an end": lambda good: good.rstrip() + b" " * 2_000_000,
    "a list": lambda good: b"[" + good.rstrip() + b"]\n",
    "a huge text": lambda good: good.replace(b"die", b"d" * 900_000),
    "a time before 1970": lambda good: good.replace(b"17958759", b"-17958759"),
    "a time after 2262": lambda good: good.replace(b"1795875942123456789", b"18446744073709551615"),
    "a time with a fraction": lambda good: good.replace(b"1795875942123456789", b"2.534023007999e20"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_line_ends_the_stream_or_says_nothing_wrong(kind: str) -> None:
    """What came before it is heard. `EngineUnavailableError` makes the watcher doubt everything, and listen again."""
    good = line(EVENT)
    heard = heard_from(good + BROKEN[kind](good))
    assert heard[0] == TRUE
    assert {(event.key, event.container_id, event.at) for event in heard} <= {(KEY, ID, TRUE.at)}


@pytest.mark.parametrize("between", [b"\n", b"\r\n", b"\n\n \n"])
def test_empty_lines_and_pieces_of_any_size_are_no_events(between: bytes) -> None:
    assert heard_from((line(EVENT).rstrip() + between) * 3) == [TRUE] * 3


@pytest.mark.parametrize("action", ["x", "exec_create: sh", "health_status: unhealthy", "die ", "DIE", "é" * 1000])
def test_an_unknown_action_is_passed_on_as_it_is(action: str) -> None:
    [event] = heard_from(line({**EVENT, "Action": action}))
    assert (event.action, event.exit_code) == (action, None)


@pytest.mark.parametrize("code", ["", "x", "-1", "1e3", "٣", "9" * 30])
def test_a_text_that_is_no_exit_code_is_none(code: str) -> None:
    [event] = heard_from(line(changed(EVENT, ("Actor", "Attributes", "exitCode"), code)))
    assert event.exit_code is None
