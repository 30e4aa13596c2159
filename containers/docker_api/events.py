"""Reads containers' events from Docker's stream of JSON lines."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from containers.docker_api.client import Connection
from containers.docker_api.errors import GARBLED, is_timeout, translate_errors, understand_answer
from containers.docker_api.logs import read_chunks, to_nanoseconds
from containers.errors import EngineUnavailableError
from containers.outbound.foreign_json import read_json
from containers.vocabulary import PROJECT_LABEL, EngineEvent

_LONGEST_EVENT = 1024 * 1024

PAST_WITHIN = 1.0
"""Seconds for an answer about past events, which no container can block. A timeout says nothing about the engine: if
its clock was set back, the moment asked for is still in its future."""

MOST_PAST = 200
"""The most past events that are trusted to be complete. Docker keeps 256 of all kinds."""

MANY = "The container engine has done too much to tell what was the last of it."

_SURELY_PAST = timedelta(seconds=1)
"""How long ago a moment is past on the engine's clock too. It answers about the future only when that has come."""

# Without the exec events: every health check creates three of them, far more than all others together.
_ACTIONS = (
    "create", "start", "restart", "die", "oom", "kill", "stop", "pause", "unpause", "destroy", "health_status",
    "rename", "update",
)  # fmt: skip


def follow_events(
    connection: Connection, within: Mapping[str, str], *, silence: float, after: datetime | None
) -> Iterator[EngineEvent]:
    """Yields events of the containers with these labels as they arrive. Ends after `silence` seconds without one.

    If `after` is given, recent events later than that moment on the engine's clock come first. Raises
    `EngineUnavailableError`.
    """
    labels = [f"{label}={value}" for label, value in sorted(within.items())]
    filters = json.dumps({"type": ["container"], "label": labels, "event": list(_ACTIONS)})
    params = {"filters": filters, **({"since": to_nanoseconds(after)} if after else {})}
    with connection.call() as client:
        response = client.open_stream("/events", params=params, silence=silence)
    return (event for event in _read_all(response) if event.at != after)


def find_newest_event(
    connection: Connection, within: Mapping[str, str], *, since: datetime, until: datetime
) -> datetime | None:
    """Returns the time of the newest of these events between two moments on the engine's clock, or None.

    The engine keeps only a few events of all kinds, so it is asked for all of them. Raises `EngineUnavailableError` if
    some may be missing.
    """
    params = {"since": to_nanoseconds(since), "until": to_nanoseconds(until)}
    with connection.call(PAST_WITHIN, about_one=True) as client, understand_answer():
        lines = client.read_past_events(params).splitlines()
        if len(lines) > MOST_PAST:
            raise EngineUnavailableError(MANY)
        found = [read_json(line) for line in lines]
        return max((_moment(each) for each in found if _is_within(each, within)), default=None)


def find_oldest_event(connection: Connection) -> datetime | None:
    """Returns the time of the oldest event that the engine remembers, on its own clock, or None.

    It remembers the last few of all kinds, and forgets them when it ends, so it was started before that. Raises
    `EngineUnavailableError`.
    """
    params = {"since": "1", "until": to_nanoseconds(datetime.now(UTC) - _SURELY_PAST)}
    with connection.call(PAST_WITHIN, about_one=True) as client, understand_answer():
        return min((_moment(read_json(line)) for line in client.read_past_events(params).splitlines()), default=None)


def _is_within(event: Mapping[str, Any], within: Mapping[str, str]) -> bool:
    if event["Type"] != "container" or not str(event["Action"]).startswith(_ACTIONS):
        return False
    facts = event["Actor"]["Attributes"]
    return all(facts.get(label) == value for label, value in within.items())


def _moment(event: Mapping[str, Any]) -> datetime:
    """Raises `ValueError` for anything but nanoseconds since 1970 in 63 bits, which end in the year 2262."""
    nanoseconds = event["timeNano"]
    if type(nanoseconds) is not int or not 0 < nanoseconds < 2**63:
        raise ValueError
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _read_all(response: requests.Response) -> Iterator[EngineEvent]:
    try:
        with translate_errors():
            for line in _split_lines(response):
                yield _read(line)
    except EngineUnavailableError as error:
        if is_timeout(error.__cause__ or error):
            return
        raise
    raise EngineUnavailableError("The container engine ended the stream of events.")


def _split_lines(response: requests.Response) -> Iterator[bytes]:
    rest = b""
    for chunk in read_chunks(response):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_EVENT:
            raise EngineUnavailableError(GARBLED)
        yield from (line for line in lines if line.strip())


def _read(line: bytes) -> EngineEvent:
    with understand_answer():
        event = read_json(line)
        facts = event["Actor"]["Attributes"]
        action = _text(event["Action"])
        return EngineEvent(
            key=_text(facts.get(PROJECT_LABEL, ""), may_be_empty=True),
            action=action,
            at=_moment(event),
            container_id=_text(event["Actor"]["ID"])[:64],
            exit_code=_exit_code(facts.get("exitCode", "")) if action == "die" else None,
        )


def _text(value: object, *, may_be_empty: bool = False) -> str:
    """Raises `ValueError` if the value is not a text that a database can store."""
    if not isinstance(value, str) or "\x00" in value or not (value or may_be_empty):
        raise ValueError
    return value


def _exit_code(value: object) -> int | None:
    """Returns the exit code, which the engine sends as text, or None if the text is no exit code."""
    text = _text(value, may_be_empty=True)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None
