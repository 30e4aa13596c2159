"""The engine answers about an agent, and only its log is slow, because it prints megabytes a second."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.agent_contract import STATUS_MARK
from containers.docker import inspections, logs, pauses
from containers.docker.engine import DockerEngine
from containers.vocabulary import AgentReport, ContainerState, Health, Observation
from tests.containers.docker.scripted_engine import ID, LABELS, NAME, container
from tests.fakes.docker_socket import FaultySocket, faulty_socket

STARTED = "2026-11-20T12:00:00.123456789Z"
LOG = f"GET /containers/{ID}/logs"
SLOW = {"hang": b"", "drip": b"x" * 400, "drip-head": b"x", "cut": b"x" * 400, "close": b"", "endless body": b"x"}
"""How a log may not come, and its content."""


def printed(state: str, at: str = "2026-11-20T12:00:05Z") -> tuple[str, int, bytes]:
    line = f"{at} {STATUS_MARK}{json.dumps({'v': 1, 'state': state})}\n".encode()
    return "answer", 200, struct.pack(">BxxxL", 1, len(line)) + line


def inspected(*, health: str = "", probe: str = "", started: str = STARTED) -> tuple[str, int, bytes]:
    found: dict[str, Any] = json.loads(container("running", health=health)[2])
    found["State"]["StartedAt"] = started
    if probe:
        output = json.dumps({"v": 1, "state": probe})
        entry = {"Start": "2026-11-20T12:00:02Z", "End": "2026-11-20T12:00:03Z", "ExitCode": 0, "Output": output}
        found["State"]["Health"]["Log"] = [entry]
    return "answer", 200, json.dumps(found).encode()


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """An engine with one agent that runs without a health check."""
    monkeypatch.setattr(logs, "SEARCH_WITHIN", 0.3)
    monkeypatch.setattr(inspections, "PATIENCE", 30.0)  # for the rest, however slow this machine is
    row = {
        "Id": ID, "Names": [f"/{NAME}"], "Labels": {**LABELS, "berth.generation": "1"}, "State": "running",
        "Status": "Up 3 seconds", "Created": 1_790_000_000,
    }  # fmt: skip
    with faulty_socket(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.url)
        made.script["GET /containers/json"] = [("answer", 200, json.dumps([row]).encode())]
        made.script[f"GET /containers/{ID}/json"] = [inspected()]
        yield made


def see(engine: DockerEngine) -> Observation:
    [seen] = engine.observe({})
    assert not seen.is_silent
    assert seen.state is ContainerState.RUNNING
    assert seen.restart_count is not None
    return seen


def state_of(seen: Observation) -> str | None:
    return seen.report.state if seen.report else None


@pytest.mark.parametrize("way", SLOW)
def test_the_container_is_observed_without_its_log(daemon: FaultySocket, way: str) -> None:
    daemon.script[LOG] = [(way, 200, SLOW[way])]
    engine = DockerEngine()
    seen = see(engine)
    assert seen.has_slow_log
    assert seen.report is None
    alone = engine.inspect("1")
    assert alone
    assert alone.has_slow_log
    engine.ping()


def test_a_container_whose_log_the_engine_fails_to_read_is_observed(daemon: FaultySocket) -> None:
    daemon.script[LOG] = [("answer", 500, b'{"message": "no luck"}')]
    assert see(DockerEngine()).has_slow_log


def test_the_last_known_report_counts_while_the_log_is_slow(daemon: FaultySocket) -> None:
    """Otherwise an agent that was degraded a moment ago would look as its older health check says."""
    daemon.script[f"GET /containers/{ID}/json"] = [inspected(health="unhealthy", probe="degraded")]
    daemon.script[LOG] = [printed("running"), ("hang", 200, b"")]
    engine = DockerEngine()
    first, second = see(engine), see(engine)
    assert not first.has_slow_log
    assert second.has_slow_log
    assert first == second
    assert first.report == AgentReport(state="running")
    assert first.health is Health.HEALTHY


@pytest.mark.parametrize(
    ("later", "state"),
    [
        (inspected(started="2026-11-20T13:00:00Z"), None),
        (inspected(health="healthy", probe="running", started="2026-11-20T12:00:01Z"), "running"),
    ],
    ids=["another run", "a health check of another run"],
)
def test_a_report_of_another_run_is_forgotten(
    daemon: FaultySocket, later: tuple[str, int, bytes], state: str | None
) -> None:
    daemon.script[LOG] = [printed("degraded"), ("hang", 200, b"")]
    engine = DockerEngine()
    assert state_of(see(engine)) == "degraded"
    daemon.script[f"GET /containers/{ID}/json"] = [later]
    assert state_of(see(engine)) == state


def test_a_report_of_a_later_health_check_takes_precedence(daemon: FaultySocket) -> None:
    daemon.script[LOG] = [printed("degraded", at="2026-11-20T12:00:01Z"), ("hang", 200, b"")]
    engine = DockerEngine()
    assert state_of(see(engine)) == "degraded"
    daemon.script[f"GET /containers/{ID}/json"] = [inspected(health="healthy", probe="running")]
    seen = see(engine)
    assert (state_of(seen), seen.health) == ("running", Health.HEALTHY)


def test_a_slow_log_is_left_alone_for_a_while(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round, and a reader, wait for it only now and then."""
    monkeypatch.setattr(pauses, "FIRST", 3600.0)
    monkeypatch.setattr(pauses, "LONGEST", 3600.0)
    daemon.script[LOG] = [("hang", 200, b"")]
    engine = DockerEngine()
    see(engine)
    daemon.requests.clear()
    for _ in range(3):
        assert see(engine).has_slow_log
    assert not [each for each in daemon.requests if "/logs" in each]


def test_a_log_that_is_quick_again_is_read(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "LONGEST", 0.0)
    daemon.script[LOG] = [("hang", 200, b""), printed("running")]
    engine = DockerEngine()
    assert see(engine).has_slow_log
    seen = see(engine)
    assert not seen.has_slow_log
    assert state_of(seen) == "running"


def test_no_reports_are_remembered_without_end(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_REPORTS", 0)
    daemon.script[LOG] = [printed("running")]
    engine = DockerEngine()
    see(engine)
    assert engine._logs._printed == {}


@pytest.mark.parametrize("how", ["answer", "cut", "close", "drip", "hang"])
def test_a_broken_inspection_makes_only_that_container_silent(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(inspections, "PATIENCE", 0.4)
    body = b'{"State": 1}' if how == "answer" else inspected()[2]
    daemon.script[f"GET /containers/{ID}/json"] = [(how, 200, body)]
    [seen] = DockerEngine().observe({})
    assert seen.is_silent
