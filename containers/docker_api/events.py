"""Reads events of containers from Docker's stream of JSON lines."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import requests

from containers.docker_api.client import Connection
from containers.docker_api.errors import GARBLED, is_timeout, translate_errors, understand_answer
from containers.docker_api.logs import read_chunks
from containers.errors import EngineUnavailableError
from containers.foreign_json import read_json
from containers.vocabulary import PROJECT_LABEL, EngineEvent

_LONGEST_EVENT = 1024 * 1024

# Without the exec events: every health probe makes three of them, far more than all others together.
_ACTIONS = (
    "create", "start", "restart", "die", "oom", "kill", "stop", "pause", "unpause", "destroy", "health_status",
    "rename", "update",
)  # fmt: skip


def follow_events(connection: Connection, within: Mapping[str, str], *, silence: float) -> Iterator[EngineEvent]:
    """Those of the containers with these labels, as they arrive from now on. Ends where none comes for so many seconds.

    Raises `EngineUnavailableError`.
    """
    labels = [f"{label}={value}" for label, value in sorted(within.items())]
    filters = json.dumps({"type": ["container"], "label": labels, "event": list(_ACTIONS)})
    with connection.call() as client:
        response = client.open_stream("/events", params={"filters": filters}, silence=silence)
    return _read_all(response)


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
        key = str(facts.get(PROJECT_LABEL, ""))
        if "\x00" in key:
            raise ValueError
        return EngineEvent(
            key=key,
            action=str(event["Action"]),
            at=datetime.fromtimestamp(event["timeNano"] / 1e9, UTC),
            container_id=str(event["Actor"].get("ID", ""))[:64],
            exit_code=_exit_code(facts.get("exitCode")) if event["Action"] == "die" else None,
        )


def _exit_code(text: object) -> int | None:
    """The engine sends it as text."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 9 else None
