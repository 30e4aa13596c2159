"""Which version of its API an engine is spoken to in."""

import re
from collections.abc import Mapping
from typing import Any

from containers.docker_api.answers import read_text
from containers.docker_api.errors import understand_answer

OLDEST_API, NEWEST_API = "1.41", "1.52"
"""The first version that Berth can speak (Docker 20.10), and the last one whose changes it knows (29.0). A newer engine
is asked in that one, because each newer version may leave out what Berth reads."""

_VERSION = re.compile(r"1\.\d{1,3}", re.ASCII)


def choose_version(answer: Mapping[str, Any]) -> str:
    """Chooses the version by the answer of GET /version: the engine's own, or `NEWEST_API` if that is older.

    Docker 29 refuses versions before 1.44. If an engine also refuses `NEWEST_API`, this is the oldest that it accepts.
    Raises `EngineUnavailableError` if it says nothing that is a version.
    """
    with understand_answer():
        newest = _read(answer["ApiVersion"])
        oldest = _read(answer.get("MinAPIVersion") or OLDEST_API)
    return max(min(newest, NEWEST_API, key=_minor), min(oldest, newest, key=_minor), key=_minor)


def _read(value: object) -> str:
    if not _VERSION.fullmatch(read_text(value)):
        raise ValueError
    return read_text(value)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
