"""GET /api/projects/{id}/logs."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.credentials.redaction import DISGUISED
from projects.models import LongRequest, Project
from projects.services.reports.logs import MAX_BYTES
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine


def lines_of(answer: Any) -> list[str]:
    return [line.partition(" ")[2] for line in answer.content.decode().splitlines()]


def test_lines_have_their_time(api: APIClient, project: Project, log: Any) -> None:
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


def test_a_line_with_an_encoded_credential_is_removed(api: APIClient, project: Project, log: Any) -> None:
    log(f"header {base64.b64encode(CANARY_API_KEY.encode()).decode()}")
    log("split " + "\x1b[0m".join(CANARY_TELEGRAM_TOKEN))
    log("cast off")
    assert lines_of(api.get(f"/api/projects/{project.id}/logs")) == [DISGUISED, "split [redacted]", "cast off"]


def test_a_terminal_obeys_nothing_that_an_agent_prints(api: APIClient, project: Project, log: Any) -> None:
    log("\x1b]0;title\x07\x1b[2Jcast\roff\u202e\x00")
    assert lines_of(api.get(f"/api/projects/{project.id}/logs")) == ["cast off"]


def test_tail_and_since_narrow_the_log(api: APIClient, project: Project, log: Any) -> None:
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


def test_output_that_is_not_utf_8_stays_readable(
    api: APIClient, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "logs", lambda *args, **kwargs: iter([b"2026-01-01T00:00:00Z caf\xe9"]))
    assert lines_of(api.get(f"/api/projects/{project.id}/logs")) == ["caf\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("path", ["logs", "logs?follow=true", "stats", "events"])
def test_a_stranger_gets_the_same_404_as_for_an_unknown_id(path: str, project: Project, bobs_api: APIClient) -> None:
    answers = [
        bobs_api.get(f"/api/projects/{project_id}/{path}", headers={"X-Request-ID": "same"})
        for project_id in (project.id, "00000000-0000-4000-8000-000000000000")
    ]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content
