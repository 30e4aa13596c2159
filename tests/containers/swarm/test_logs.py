"""Logs that a node does not deliver. The manager says so in a line of its own stream, without a time."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from containers.docker.logs import Logs as LogsOfHost
from containers.docker.lookup import Lookup
from containers.docker_api.client import Connection
from containers.docker_api.logs import split_lines
from containers.errors import EngineUnavailableError
from containers.swarm.observation.logs import Logs
from containers.swarm.services.services import Services
from containers.swarm.tasks.tasks import Service
from containers.vocabulary import AgentReport
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_tasks import BEGAN, service, task
from tests.fakes.messages import Answer

SAID = b"Error grabbing logs: rpc error: code = Unavailable desc = node n1 is not available\n\n"
STAMP = b"2026-01-01T00:00:01.000000000Z"
LINE = STAMP + b" hello\n"
REPORT = AgentReport(state="running")


def frame(stream: int, text: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(text)) + text


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Manager, Logs, Service]]:
    """A service with two runs. The test chooses what the newer one has printed."""
    found = service(task(1, "failed"), task(2, "running"))
    monkeypatch.setattr(Services, "look_up", lambda *args: found._replace(runs=()) if args else None)
    monkeypatch.setattr(Services, "ours", lambda *args: [found])
    with manager(monkeypatch) as fake:
        connection = Connection()
        fake.bodies |= {"/tasks/t1/logs": Answer(200, b""), "/services/s/logs": Answer(200, b"")}
        yield fake, Logs(connection, Services(connection), frozenset), found


def test_a_message_of_the_manager_is_no_log_line_but_an_error() -> None:
    assert list(split_lines([frame(1, LINE) + frame(3, SAID) + frame(2, LINE)])) == [LINE.rstrip()] * 2
    assert list(split_lines([])) == []
    with pytest.raises(EngineUnavailableError, match="cannot read the log"):
        list(split_lines([frame(3, SAID)]))


@pytest.mark.parametrize("follow", [False, True])
def test_existing_lines_are_read_and_new_ones_followed(seen: Any, follow: bool) -> None:
    fake, logs, _ = seen
    fake.bodies["/tasks/t2/logs"] = Answer(200, frame(1, LINE) + frame(3, SAID))
    assert list(logs.read("x", follow=follow)) == [LINE.rstrip()]
    fake.bodies |= {"/tasks/t2/logs": Answer(200, frame(3, SAID)), "/tasks/t1/logs": Answer(200, frame(1, LINE))}
    assert list(logs.read("x", follow=follow)) == [LINE.rstrip()]
    fake.bodies["/tasks/t1/logs"] = Answer(200, b"")
    with pytest.raises(EngineUnavailableError):
        list(logs.read("x", follow=follow))


def test_a_line_without_a_time_ends_no_reader(seen: Any) -> None:
    fake, logs, _ = seen
    fake.bodies["/tasks/t2/logs"] = Answer(200, frame(1, b"Error without a time\n"))
    assert list(logs.read("x", follow=True)) == [b"Error without a time"]


def test_a_known_report_is_kept(seen: Any) -> None:
    fake, logs, found = seen
    fake.bodies["/tasks/t2/logs"] = Answer(200, frame(3, SAID))
    assert logs._read_report(found.runs[0], REPORT) is REPORT


def test_a_damaged_log_of_a_single_host_hides_nothing_but_itself(seen: Any) -> None:
    fake, _, _ = seen
    fake.bodies["/containers/c/logs"] = Answer(200, frame(3, SAID))
    connection = Connection()
    assert LogsOfHost(connection, Lookup(connection))._read_tail("c", BEGAN) == []
