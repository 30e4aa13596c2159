"""An agent's report is recorded at once, not only with the next health check."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from containers.vocabulary import Health
from projects.models import Project
from projects.watcher import reports
from projects.watcher import watcher as loop
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reports import Reports
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of
from tests.waiting import wait_until


def test_a_report_overrides_the_health_check_before_it(project: Project, engine: MemoryEngine) -> None:
    """Round by round, even if only the list is read, which knows the health check alone."""
    name, keys = project.container_name, {project.container_key}
    for state, code, expected in [
        ("degraded", "provider_down", "degraded"),
        ("degraded", "telegram_unreachable", "degraded"),
        ("running", "", "running"),
        ("degraded", "provider_down", "degraded"),
    ]:
        engine.report(name, state, code)
        reconcile(changed_keys=keys)
        for _ in range(3):
            assert status_of(project) == expected
            row = Project.objects.get()
            assert (row.agent_state, row.agent_code) == (state, code)
            reconcile()


def test_the_next_health_check_counts_more_than_the_report(project: Project, engine: MemoryEngine) -> None:
    engine.report(project.container_name, "degraded", "provider_down")
    reconcile(changed_keys={project.container_key})
    engine.report(project.container_name, "running")
    engine.set_health(project.container_name, Health.HEALTHY)
    reconcile()
    assert status_of(project) == "running"
    engine.set_health(project.container_name, Health.UNHEALTHY)
    reconcile()
    assert status_of(project) == "degraded"


def test_without_a_watcher_a_reader_gets_the_same(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    engine.report(project.container_name, "degraded", "provider_down")
    reconcile(changed_keys={project.container_key})
    Project.objects.update(observed_at=None)
    detail = api.get(f"/api/projects/{project.pk}").json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("degraded", "provider_down")


@contextmanager
def running(watcher: Watcher) -> Iterator[None]:
    def run() -> None:
        watcher.run()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        watcher.stop()
        thread.join(60)
        assert not thread.is_alive()


def _is_told(project: Project, engine: MemoryEngine, state: str, code: str) -> bool:
    """Repeats the report, because the watcher may have begun to listen only then."""
    engine.report(project.container_name, state, code)
    row = Project.objects.get()
    return (row.agent_state, row.agent_code) == (state, code)


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_the_watcher_looks_as_soon_as_an_agent_reports(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rounds no longer come by themselves, and the health check says nothing: only the report can wake it."""
    rounds, follow = [0], Reports.follow

    def note(self: Reports, found: Any) -> None:
        follow(self, found)
        rounds[0] += 1

    monkeypatch.setattr(Reports, "follow", note)
    monkeypatch.setattr(reports, "EACH_EVERY", 0.0)
    monkeypatch.setattr(reports, "WAIT", 0.05)
    monkeypatch.setattr(loop, "LOOK_EVERY", 3600.0)
    watcher = Watcher()
    with running(watcher):
        wait_until(lambda: rounds[0] > 0)
        for state, code in [("degraded", "provider_down"), ("running", "")]:
            wait_until(partial(_is_told, project, engine, state, code), within=60, every=0.2)


def test_an_agent_that_reports_endlessly_is_inspected_sometimes_and_once_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    heard = Reports(looks.append)
    for _ in range(50):
        heard._trigger({"noisy"})
        clock[0] += 0.1
    assert 4 <= len(looks) <= 6
    looks.clear()
    heard._trigger({"noisy"})
    clock[0] += reports.EACH_EVERY
    heard._trigger(set())
    heard._trigger(set())
    assert looks[-1:] == ["noisy"]
    assert len(looks) <= 2


def test_a_report_soon_after_another_one_does_not_wait_longer_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    heard = Reports(looks.append)
    assert heard._until_next() == reports.WAIT
    heard._trigger({"noisy"})
    clock[0] += 0.75
    heard._trigger({"noisy"})
    assert heard._until_next() == reports.EACH_EVERY - 0.75
    clock[0] += 0.25
    heard._trigger(set())
    assert (looks, heard._until_next()) == (["noisy"] * 2, reports.WAIT)


def _is_heard(engine: MemoryEngine, heard: threading.Event) -> bool:
    engine.report("an agent", "degraded")
    return heard.is_set()


@pytest.mark.parametrize("broken", ["opening", "waiting"])
def test_an_engine_that_breaks_is_followed_again(
    broken: str, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Callable[..., Any] = engine.report_streams
    failures = [0]
    heard = threading.Event()

    def break_once() -> Any:
        if failures[0]:
            return made()
        failures[0] += 1
        if broken == "opening":
            raise RuntimeError("a bug")
        streams = made()
        streams.wait = None
        return streams

    monkeypatch.setattr(reports, "WAIT", 0.02)
    monkeypatch.setattr(engine, "report_streams", break_once)
    container = engine.foreign("an agent")
    following = Reports(lambda _: heard.set())
    following.follow({container.container_id: "key"})
    following.start()
    try:
        wait_until(lambda: failures[0] > 0)
        wait_until(partial(_is_heard, engine, heard))
    finally:
        following.stop()
