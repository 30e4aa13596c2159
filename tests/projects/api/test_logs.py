"""GET /api/projects/{id}/logs and /stats."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from projects.api import long_requests
from projects.models import LongRequest, Project
from projects.services.logs import MAX_BYTES
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine


@pytest.fixture
def log(project: Project, engine: MemoryEngine) -> Any:
    return lambda line: engine.log(project.container_name, line)


def lines_of(answer: Any) -> list[str]:
    return [line.partition(" ")[2] for line in answer.content.decode().splitlines()]


def test_lines_come_with_their_time(api: APIClient, project: Project, log: Any) -> None:
    log("cast off")
    answer = api.get(f"/api/projects/{project.id}/logs")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    moment, _, line = answer.content.decode().strip().partition(" ")
    assert line == "cast off"
    assert datetime.now(UTC) - datetime.fromisoformat(moment) < timedelta(minutes=1)


def test_credentials_are_redacted_whole_and_in_parts(api: APIClient, project: Project, log: Any) -> None:
    log(f"key={CANARY_API_KEY} url=/bot{CANARY_TELEGRAM_TOKEN}/getMe half={CANARY_TELEGRAM_TOKEN.partition(':')[2]}")
    assert lines_of(api.get(f"/api/projects/{project.id}/logs")) == [
        "key=[redacted] url=/bot[redacted]/getMe half=[redacted]"
    ]


def test_tail_and_since_narrow_it(api: APIClient, project: Project, log: Any) -> None:
    for number in range(5):
        log(f"line {number}")
    assert lines_of(api.get(f"/api/projects/{project.id}/logs?tail=2")) == ["line 3", "line 4"]
    assert lines_of(api.get(f"/api/projects/{project.id}/logs?tail=0")) == []
    future = (timezone.now() + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert lines_of(api.get(f"/api/projects/{project.id}/logs?since={future}")) == []


@pytest.mark.parametrize(
    "query", ["tail=-1", "tail=x", "tail=10001", "tail=", "since=yesterday", "since=2026-13-01", "follow=yes"]
)
def test_a_bad_query_is_a_400_that_names_it(query: str, api: APIClient, project: Project) -> None:
    answer = api.get(f"/api/projects/{project.id}/logs?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


def test_an_answer_is_at_most_a_megabyte(api: APIClient, project: Project, log: Any) -> None:
    for _ in range(300):
        log("x" * 8000)
    assert MAX_BYTES - 5000 < len(api.get(f"/api/projects/{project.id}/logs").content) <= MAX_BYTES


def test_a_silent_engine_is_a_503(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    for query in ("", "?follow=true"):
        answer = api.get(f"/api/projects/{project.id}/logs{query}", headers={"Accept": "text/event-stream"})
        assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert not LongRequest.objects.exists()


def test_what_is_not_utf_8_is_readable_all_the_same(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "logs", lambda *args, **kwargs: iter([b"2026-01-01T00:00:00Z caf\xe9"]))
    assert lines_of(api.get(f"/api/projects/{project.id}/logs")) == ["caf\N{REPLACEMENT CHARACTER}"]


def hang_up(answer: Any) -> None:
    """The client leaves: what `close()` does, but for the signal that would close the test's own database."""
    for close in answer._resource_closers:
        close()


@pytest.fixture
def follow(api: APIClient, project: Project) -> Iterator[Any]:
    """Follow the log of Alice's project; whoever still does at the end of the test leaves."""
    opened: list[Any] = []

    def open_stream() -> Any:
        opened.append(api.get(f"/api/projects/{project.id}/logs?follow=true"))
        return opened[-1]

    yield open_stream
    for answer in opened:
        if answer.streaming:
            hang_up(answer)


def events_of(stream: Iterator[bytes]) -> Iterator[str]:
    return (chunk.decode().strip() for chunk in stream)


def test_followers_get_lines_as_they_come_and_the_end(
    follow: Any, project: Project, engine: MemoryEngine, log: Any
) -> None:
    log("before")
    answer = follow()
    assert answer["Content-Type"].startswith("text/event-stream")
    events = events_of(answer.streaming_content)
    assert next(events).endswith(" before")
    timer = threading.Timer(0.2, log, ["while following"])
    timer.start()
    assert next(events).endswith(" while following")
    timer.join()
    engine.exit(project.container_name)
    assert list(events) == ["event: end\ndata: the log has ended"]
    assert not LongRequest.objects.exists()


def test_a_follower_is_told_that_the_engine_fell_silent(
    follow: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        yield b"2026-01-01T00:00:00Z one"
        raise EngineUnavailableError("The engine does not answer.")

    monkeypatch.setattr(engine, "logs", breaking)
    answer = follow()
    assert list(events_of(answer.streaming_content))[-1] == "event: error\ndata: The engine does not answer."


def test_silence_is_filled_so_that_a_client_that_left_is_noticed(follow: Any, engine: MemoryEngine) -> None:
    engine.silence = 0.05
    answer = follow()
    events = events_of(answer.streaming_content)
    assert [next(events), next(events)] == [": still here"] * 2
    hang_up(answer)
    assert not LongRequest.objects.exists()


def test_a_user_has_five_followers_at_most(follow: Any, log: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(long_requests, "_threads", threading.BoundedSemaphore(100))
    log("something")
    open_ones = [follow() for _ in range(5)]
    answer = follow()
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "throttled", "5")
    hang_up(open_ones[0])
    assert follow().status_code == 200


def test_a_quarter_of_the_threads_is_the_limit_for_all(follow: Any, log: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(long_requests, "_threads", threading.BoundedSemaphore(1))
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


def test_stats_tell_what_it_uses(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    assert api.get(f"/api/projects/{project.id}/stats").json() == {
        "cpu_percent": 1.5,
        "memory": 48 << 20,
        "memory_limit": 256 << 20,
        "network_received": 2048,
        "network_sent": 1024,
        "pids": 3,
    }
    engine.exit(project.container_name)
    assert set(api.get(f"/api/projects/{project.id}/stats").json().values()) == {None}


@pytest.mark.parametrize("path", ["logs", "logs?follow=true", "stats", "events"])
def test_a_stranger_is_told_what_anybody_is_told_of_an_id_that_never_was(
    path: str, project: Project, bobs_api: APIClient
) -> None:
    answers = [
        bobs_api.get(f"/api/projects/{project_id}/{path}", headers={"X-Request-ID": "same"})
        for project_id in (project.id, "00000000-0000-4000-8000-000000000000")
    ]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content
