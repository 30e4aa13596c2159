"""What only looks at the engine gives up after the two seconds of a read: a silent engine holds no thread for long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineUnavailableError
from projects.models import Project
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine

READS = {
    "logs": ("logs", "/api/projects/{}/logs"),
    "end of the logs": ("logs", "/api/projects/{}/logs?tail=5"),
    "stats": ("stats", "/api/projects/{}/stats"),
    "page": ("logs", "/projects/{}"),
}


@pytest.fixture
def limited(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each call that looks at the engine, whether it was made within the time of a read."""
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
    assert get(READS[name][1].format(project.pk)).status_code == 200
    assert limited == [True]


@pytest.mark.parametrize("name", READS)
def test_where_it_is_over_the_answer_says_so(
    name: str, get: Callable[[str], Any], project: Project, engine: MemoryEngine
) -> None:
    verb, path = READS[name]
    engine.fail(verb, EngineUnavailableError, times=1)
    assert get(path.format(project.pk)).status_code == (200 if name == "page" else 503)


def test_a_log_that_is_followed_goes_on(api: APIClient, project: Project, limited: list[bool], log: Any) -> None:
    log("cast off")
    answer: Any = api.get(f"/api/projects/{project.pk}/logs?follow=true")
    for close in answer._resource_closers:
        close()
    assert limited == [False]
