"""Each value in the engine's answers is replaced in turn:
the result is one of our errors, or something that a database can store."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.docker.observations import read_details, read_rows
from containers.docker_api.answers import read_volumes
from containers.docker_api.errors import translate_errors, understand_answer
from containers.docker_api.events import _read
from containers.docker_api.stats import Meter
from containers.errors import EngineUnavailableError
from containers.outbound.foreign_json import read_json
from containers.vocabulary import Observation, Usage
from projects.models import Project
from tests.containers.docker.scripted_engine import container

HOSTILE: list[str] = [
    *("null", "true", "false", "0", "-1", "2147483648", "-2147483649", "9223372036854775808", "1.5", "-0.0"),
    *("9" * 19, "9" * 40, "9" * 5000, "1e308", "1e999", "NaN", "Infinity", "-Infinity"),
    *(
        '""',
        '"x"',
        '"\\u0000"',
        '"\\ud800"',
        '"\\u202e"',
        f'"{"x" * 100_000}"',
        f'"{"9" * 5000}"',
        '"' + "c" * 64 + '"',
    ),
    *("[]", "{}", "[[]]", '{"a": 1}', "[null]", '{"": {"": null}}', "[" * 500 + "]" * 500),
    *('"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999999999-23:59"', '"0002-01-01T00:00:00+23:59"'),
    *('"2026-11-20T12:00:00"', '"running"', '"exited"', '"healthy"', '"\\u0663"'),
]

AT = "2026-11-20T12:00:00.123456789Z"
PROBE = {"Start": AT, "End": AT, "ExitCode": 0, "Output": 'AGENT-STATUS {"v": 1, "state": "running", "code": "a"}'}
DETAILS = json.loads(container("exited")[2])
DETAILS["State"]["Health"] = {"Status": "healthy", "Log": [PROBE]}
ROW = {
    "Id": "c" * 64,
    "Names": ["/berth-1"],
    "Labels": {"berth.generation": "1"},
    "State": "running",
    "Status": "Up 2 seconds (healthy)",
    "Created": 1_790_000_000,
}
STATS = {
    "read": AT,
    "memory_stats": {"usage": 5_000_000, "limit": 9_000_000, "stats": {"inactive_file": 1000}},
    "cpu_stats": {"cpu_usage": {"total_usage": 10**9}},
    "networks": {"eth0": {"rx_bytes": 1, "tx_bytes": 2}},
    "pids_stats": {"current": 3},
}
VOLUMES = {"Volumes": [{"Name": "berth-1-data", "Labels": {"berth.project": "1"}, "CreatedAt": AT}]}
EVENT = {"Action": "die", "timeNano": 10**18, "Actor": {"ID": "c" * 64, "Attributes": {"berth.project": "1"}}}

Reader = Callable[[Any], object]
BEGAN = datetime(2026, 11, 20, 11, tzinfo=UTC)
READERS: dict[str, tuple[Any, Reader]] = {
    "inspect": (DETAILS, lambda answer: read_details(answer).observation),
    "list": ([ROW], read_rows),
    "stats": (STATS, lambda answer: Meter().read("x", answer, started_at=BEGAN)),
    "volumes": (VOLUMES, read_volumes),
    "event": (EVENT, lambda answer: _read(json.dumps(answer).encode())),
}
MARK = "here stands the hostile value"


def find_places(answer: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inside = answer.items() if isinstance(answer, dict) else enumerate(answer) if isinstance(answer, list) else ()
    for name, value in inside:
        yield from find_places(value, (*place, name))


def put(answer: Any, place: tuple[Any, ...], value: str) -> bytes:
    """Returns the answer as bytes, with the text of the value at the place."""
    if not place:
        return value.encode()
    changed = copy.deepcopy(answer)
    inside = changed
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = MARK
    return json.dumps(changed).replace(json.dumps(MARK), value).encode()


PLACES = [(kind, place) for kind, (answer, _) in READERS.items() for place in find_places(answer)]


@pytest.mark.rare(1)
@pytest.mark.every_case
@pytest.mark.either_database
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "place"), PLACES, ids=[f"{kind}-{'.'.join(map(str, place))}" for kind, place in PLACES]
)
def test_values_that_a_database_cannot_store_are_bounded(project: Project, kind: str, place: tuple[Any, ...]) -> None:
    answer, read = READERS[kind]
    stored: set[str] = set()  # most values count as one of a few
    for value in HOSTILE:
        body = put(answer, place, value)
        try:
            with translate_errors(), understand_answer():
                seen = read(read_json(body))
        except EngineUnavailableError:
            continue
        for each in seen if isinstance(seen, list) else [seen]:
            if isinstance(each, Observation) and repr(each) not in stored:
                stored.add(repr(each))
                assert each.generation < 2**63
                changed = project.apply_observation(each, at=datetime.now(UTC))
                project.save(update_fields=changed)
                project.refresh_from_db()
            if isinstance(each, Usage):
                assert json.loads(json.dumps(each.cpu_percent, allow_nan=False)) >= 0


@pytest.mark.parametrize("kind", READERS)
def test_the_honest_answer_is_read(kind: str) -> None:
    answer, read = READERS[kind]
    assert read(read_json(json.dumps(answer).encode()))
