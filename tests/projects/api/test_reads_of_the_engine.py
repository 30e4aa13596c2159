"""Reads of the engine give up after two seconds, so that a silent engine does not block threads for long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineUnavailableError
from projects.models import Project
from projects.services.reports.logs import CUT_OFF
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine

READS = {
    "logs": ("logs", "/api/projects/{}/logs"),
    "end of the logs": ("logs", "/api/projects/{}/logs?tail=5"),
    "stats": ("stats", "/api/projects/{}/stats"),
    "followed": ("logs", "/api/projects/{}/logs?follow=true"),
    "page": ("logs", "/projects/{}"),
}


@pytest.fixture
def limited(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each engine call of a read, whether it was made within the time limit of a read."""
    inside = [False]
    calls: list[bool] = []

    @contextmanager
    def read_deadline() -> Iterator[None]:
        inside[0] = True
        try:
            yield
        finally:
            inside[0] = False

    monkeypatch.setattr(engine, "read_deadline", read_deadline)
    for verb in ("logs", "stats"):
        engine.slow(verb, lambda: calls.append(inside[0]))
    return calls


@pytest.fixture
def get(api: APIClient, alice: User) -> Callable[[str], Any]:
    browser: Client = browser_of(alice)
    return lambda path: (api if path.startswith("/api") else browser).get(path)


@pytest.mark.parametrize("name", READS)
def test_a_read_has_the_time_of_a_read(
    name: str, get: Callable[[str], Any], project: Project, limited: list[bool]
) -> None:
    answer = get(READS[name][1].format(project.pk))
    assert answer.status_code == 200
    for close in answer._resource_closers:  # of one that is followed
        close()
    assert limited == [True]


@pytest.mark.parametrize("name", READS)
def test_a_read_beyond_its_time_limit_says_so(
    name: str, get: Callable[[str], Any], project: Project, engine: MemoryEngine
) -> None:
    verb, path = READS[name]
    engine.fail(verb, EngineUnavailableError, times=1)
    assert get(path.format(project.pk)).status_code == (200 if name == "page" else 503)


def test_a_log_that_comes_too_slowly_is_cut_off_and_says_so(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of an agent that prints endlessly would otherwise be unreadable."""
    monkeypatch.setattr(engine, "logs", lambda _key, **_given: slow_lines(3))
    answer: Any = api.get(f"/api/projects/{project.pk}/logs?since=365d")
    lines = b"".join(answer.streaming_content).decode().splitlines() if answer.streaming else answer.text.splitlines()
    assert answer.status_code == 200
    assert lines[:3] == [f"2026-01-01T00:00:0{second}Z cast off" for second in range(3)]
    assert lines[3:] == [f"2026-01-01T00:00:02Z {CUT_OFF.decode()}"]
    monkeypatch.setattr(engine, "logs", lambda _key, **_given: slow_lines(0))
    assert api.get(f"/api/projects/{project.pk}/logs?since=365d").status_code == 503


def slow_lines(number: int) -> Iterator[bytes]:
    """Some lines, and then nothing until the time is up."""
    yield from (b"2026-01-01T00:00:0%dZ cast off" % second for second in range(number))
    raise EngineUnavailableError


def test_only_opening_a_stream_has_the_time_limit_of_a_read(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream's own thread waits for its lines without a limit."""
    reading: list[bool] = []

    @contextmanager
    def read_deadline() -> Iterator[None]:
        reading.append(True)
        yield
        reading.append(False)

    def logs(_key: str, **_given: object) -> Iterator[bytes]:
        def lines() -> Iterator[bytes]:
            assert reading == [True, False]
            reading.append(False)
            yield b"2026-01-01T00:00:00Z cast off"

        return lines()

    monkeypatch.setattr(engine, "read_deadline", read_deadline)
    monkeypatch.setattr(engine, "logs", logs)
    answer: Any = api.get(f"/api/projects/{project.pk}/logs?follow=true")
    assert reading == [True, False]
    events = list(answer.streaming_content)
    assert events == [b"data: 2026-01-01T00:00:00Z cast off\n\n", b"event: end\ndata: the log has ended\n\n"]
