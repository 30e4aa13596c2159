"""Long requests hold no database connection, because there are hardly more of these than threads."""

from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.services import still_signed_in
from projects.api.streams import wait
from projects.models import Project
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import events_of, hang_up

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


def is_held() -> bool:
    """Whether this thread, which answers in these tests, has a connection."""
    return connection.connection is not None


@pytest.mark.parametrize("by", ["token", "session"])
def test_a_followed_log_holds_no_connection_to_the_database(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    engine.silence = 0.01
    for number in range(3):
        engine.log(project.container_name, f"line {number}")
    path = f"/projects/{project.id}/log" if by == "session" else f"/api/projects/{project.id}/logs?follow=true"
    answer: Any = (browser_of(project.owner) if by == "session" else api).get(path)
    events = events_of(answer.streaming_content)
    held = []
    for _ in range(3):
        next(events)
        held.append(is_held())
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0.0)  # from now on it checks the database before each part
    for _ in range(3):
        assert next(events) == ": still here"
        held.append(is_held())
    hang_up(answer)
    assert held == [False] * 6


def test_waiting_for_a_status_holds_no_database_connection_between_checks(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.ready_after_deploy = False
    held = []

    class Clock:
        """Replaces `time` in the module that waits."""

        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            held.append(is_held())
            self.now += 1.0

    monkeypatch.setattr(wait, "time", Clock())
    answer: Any = api.post(f"/api/projects/{project.id}/control?wait=3", {"action": "restart"})
    assert (answer.status_code, answer.json()["status"]) == (200, "starting")
    assert held == [False] * 3
