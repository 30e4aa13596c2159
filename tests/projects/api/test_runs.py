"""GET /api/projects/{id}/runs and ?run= of the logs: a start loses no log."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from projects.models import Project, Run
from projects.rules.status.lifecycle import Operation
from projects.services.reports.logs import KEPT_BYTES
from projects.services.reports.runs import KEPT_RUNS, keep_run
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Change, Control
from tests.projects.api.following import events_of, hang_up
from tests.projects.services.races import once


@pytest.fixture
def read(api: APIClient, project: Project) -> Any:
    """The lines of the log, without their times."""

    def get(query: str = "") -> list[str]:
        answer = api.get(f"/api/projects/{project.id}/logs{query}")
        assert answer.status_code == 200, answer.content
        return [line.partition(" ")[2] for line in answer.content.decode().splitlines()]

    return get


@pytest.fixture
def runs(api: APIClient, project: Project) -> Any:
    return lambda: api.get(f"/api/projects/{project.id}/runs").json()


def test_the_first_run_is_the_current_one(runs: Any, read: Any, log: Any) -> None:
    log("cast off")
    [run] = runs()
    assert (run["number"], run["current"], run["exit_code"], run["ended_at"]) == (1, True, None, None)
    assert run["started_at"]
    assert read("?run=1") == read() == ["cast off"]


@pytest.mark.parametrize("commands", [["restart"], ["stop", "start"]])
def test_the_log_of_the_run_before_stays_readable(
    commands: list[str], runs: Any, read: Any, log: Any, control: Control
) -> None:
    log("the first run")
    for command in commands:
        control(command)
    log("the second run")
    assert [(run["number"], run["current"]) for run in runs()] == [(2, True), (1, False)]
    assert read("?run=1") == ["the first run"]
    assert read("?run=2") == read() == ["the second run"]


def test_the_log_of_a_crash_survives_a_start(
    project: Project, engine: MemoryEngine, runs: Any, read: Any, log: Any, control: Control
) -> None:
    for number in range(50):
        log(f"line {number}")
    engine.crash(project.container_name, exit_code=30)
    reconcile()
    control("start")
    assert [(run["number"], run["exit_code"]) for run in runs()] == [(2, None), (1, 30)]
    assert read("?run=1&tail=2") == ["line 48", "line 49"]
    assert len(read("?run=1")) == 50


def test_the_log_of_a_container_replaced_by_the_watcher_is_kept_too(
    project: Project, engine: MemoryEngine, read: Any, log: Any, control: Control
) -> None:
    """A restart that dies after its claim leaves the old container to the watcher."""
    log("before the kill")
    Project.objects.update(generation=project.generation + 1)
    reconcile()
    assert read("?run=1") == ["before the kill"]


def test_a_stop_that_removes_the_container_of_a_lost_start_keeps_its_log(
    project: Project, engine: MemoryEngine, read: Any, log: Any, control: Control
) -> None:
    log("before the stop")
    assert project.claim(Operation.RESTART, lasting=timedelta(minutes=1))
    control("stop")
    assert engine.containers == {}
    assert read("?run=1") == ["before the stop"]


@pytest.mark.parametrize("before", [[], ["restart"]])
@pytest.mark.parametrize("ends", ["restarted", "crashed", "stopped", "its memory is cleared"])
def test_a_run_is_listed_once_while_the_next_one_begins(
    ends: str,
    before: list[str],
    api: APIClient,
    project: Project,
    engine: MemoryEngine,
    runs: Any,
    log: Any,
    control: Control,
) -> None:
    for command in before:
        control(command)
    number, seen = len(before) + 1, []
    if ends == "crashed":
        engine.crash(project.container_name, exit_code=30)
        reconcile()
    elif ends == "stopped":
        control("stop")
    once(engine, "deploy.start", lambda: seen.extend(runs()))
    if ends == "its memory is cleared":
        api.delete(f"/api/projects/{project.id}/memory")
    else:
        control("restart" if ends == "restarted" else "start")
    assert [(run["number"], run["current"]) for run in seen] == [(each, False) for each in range(number, 0, -1)]
    assert [(run["number"], run["current"]) for run in runs()][:2] == [(number + 1, True), (number, False)]
    assert runs()[1] == seen[0]


def test_a_kept_run_whose_container_someone_starts_again_is_not_the_current_one(
    project: Project, engine: MemoryEngine, runs: Any
) -> None:
    """A start was killed after it had kept the run, and before it removed the container."""
    engine.crash(project.container_name, exit_code=30)
    ended = engine.inspect(project.container_key)
    assert ended
    keep_run(project, ended)
    reconcile(repair=False)
    assert [(run["number"], run["current"]) for run in runs()] == [(1, False)]
    engine.restart_once_more(project.container_name)
    reconcile(repair=False)
    assert [(run["number"], run["current"]) for run in runs()] == [(2, True), (1, False)]


def test_a_log_that_cannot_be_read_holds_up_no_start(
    engine: MemoryEngine, runs: Any, read: Any, log: Any, control: Control
) -> None:
    log("lost")
    engine.fail("logs", EngineUnavailableError, times=1)
    assert control("restart").json()["status"] == "running"
    assert [run["number"] for run in runs()] == [2, 1]
    assert read("?run=1") == []


def test_the_number_of_kept_runs_is_limited(project: Project, runs: Any, log: Any, control: Control) -> None:
    for _ in range(KEPT_RUNS + 3):
        control("restart")
    for _ in range(70):
        log("x" * 2000)
    control("restart")
    assert [run["number"] for run in runs()] == list(range(KEPT_RUNS + 5, 4, -1))
    sizes = [len(run.log.encode()) for run in Run.objects.all()]
    assert len(sizes) == KEPT_RUNS
    assert KEPT_BYTES - 5000 < max(sizes) <= KEPT_BYTES


def test_credentials_are_redacted_in_stored_and_served_logs(
    read: Any, log: Any, control: Control, change: Change
) -> None:
    log(f"key {CANARY_API_KEY}")
    log("a key of tomorrow: 7Yp2mQx9Lw4Tz8Kc1Vb6Nd3R")
    control("restart")
    assert "7Yp2mQx9Lw4Tz8Kc1Vb6Nd3R" in Run.objects.get().log
    assert CANARY_API_KEY not in Run.objects.get().log
    change(apiKey="7Yp2mQx9Lw4Tz8Kc1Vb6Nd3R")
    assert read("?run=1") == ["key [redacted]", "a key of tomorrow: [redacted]"]
    assert CANARY_OTHER_API_KEY not in Run.objects.get().log


def test_since_narrows_an_earlier_run(read: Any, log: Any, control: Control) -> None:
    log("one")
    control("restart")
    future = (timezone.now() + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert read(f"?run=1&since={future}") == []
    assert read("?run=1&since=2026-01-01T00:00:00Z") == ["one"]
    assert read("?run=1&tail=0") == []


def test_an_ended_run_that_is_followed_ends_after_its_last_line(
    api: APIClient, project: Project, control: Control, log: Any
) -> None:
    log("the first run")
    control("restart")
    answer: Any = api.get(f"/api/projects/{project.id}/logs?run=1&follow=true")
    events = list(events_of(answer.streaming_content))
    hang_up(answer)
    assert [event.rpartition(" ")[2] for event in events[:1]] == ["run"]
    assert events[1:] == ["event: end\ndata: the log has ended"]
    assert api.get(f"/api/projects/{project.id}/logs?run=7&follow=true").status_code == 404
