"""Requests that follow a log or wait for a status: how many there may be at a time."""

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from projects.api.streams import logs as log_stream
from projects.api.streams import long_requests
from projects.models import LongRequest, Project
from projects.services.bulkheads import Places
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import hang_up


def test_a_user_has_five_followers_at_most(follow: Any, log: Any) -> None:
    log("something")
    open_ones = [follow() for _ in range(5)]
    answer = follow()
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "throttled", "5")
    hang_up(open_ones[0])
    assert follow().status_code == 200


def test_a_process_has_places_for_some(follow: Any, log: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(log_stream, "STREAMS", Places(total=1, each=1, reserve=0))
    log("something")
    first = follow()
    assert follow().status_code == 429
    hang_up(first)
    assert follow().status_code == 200


def test_leases_of_a_server_that_was_killed_run_out(follow: Any, project: Project, log: Any) -> None:
    log("something")
    past = timezone.now() - timedelta(seconds=1)
    LongRequest.objects.bulk_create(LongRequest(owner=project.owner, held_until=past) for _ in range(5))
    assert follow().status_code == 200


def test_waiting_is_bounded_too_and_never_fails_a_command(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: Any
) -> None:
    monkeypatch.setattr(long_requests, "PER_USER", 0)
    engine.ready_after_deploy = False
    began = time.monotonic()
    answer = api.post(f"/api/projects/{project.id}/control?wait=20", {"action": "restart"})
    assert (answer.status_code, answer.json()["status"]) == (200, "starting")
    assert time.monotonic() - began < 15
