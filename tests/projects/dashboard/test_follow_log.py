"""The log on a project's page: followed as it is printed, and as a file."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.services import still_signed_in
from projects.models import LongRequest, Project
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import events_of, hang_up
from tests.projects.dashboard.pages import path_of

pytestmark = pytest.mark.one_database
LATER, LATEST = "2026-01-01T00:00:00.000000002Z", "2026-01-01T00:00:00.000000003Z"


@pytest.fixture
def follow(dashboard: Client, project: Project) -> Iterator[Any]:
    """Followers that are left at the end of the test are closed."""
    opened: list[Any] = []

    def open_stream(query: str = "", **headers: str) -> Any:
        opened.append(dashboard.get(f"{path_of(project)}/log{query}", headers=headers))
        return opened[-1]

    yield open_stream
    for answer in opened:
        if answer.streaming:
            hang_up(answer)


def lines_of(events: Iterator[str]) -> list[dict[str, Any]]:
    """Returns the lines of the events, without signs of life."""
    data = (event.partition("data: ")[2] for event in events if "data: {" in event)
    return [json.loads(each) for each in data]


def test_each_line_is_sent_with_its_time_and_the_end_follows(
    follow: Any, project: Project, engine: MemoryEngine
) -> None:
    engine.log(project.container_name, 'AGENT-STATUS {"v":1,"state":"running","code":null,"detail":null}')
    answer = follow()
    assert answer["Content-Type"].startswith("text/event-stream")
    assert answer["Cache-Control"] == "no-store"
    events = events_of(answer.streaming_content)
    first = next(events)
    while first == ": still here":
        first = next(events)
    told = json.loads(first.partition("data: ")[2])
    assert (told["level"], told["text"]) == ("status", "Ready")
    assert first.startswith(f"id: {told['at']}\n")
    timer = threading.Timer(0.2, engine.log, [project.container_name, "2026-05-01 12:00:00,1 ERROR no"])
    timer.start()
    told = json.loads(next(event for event in events if "data: " in event).partition("data: ")[2])
    assert (told["level"], told["text"]) == ("error", "no")
    timer.join()
    engine.exit(project.container_name)
    assert list(events)[-1] == "event: end\ndata: the log has ended"
    assert not LongRequest.objects.exists()


@pytest.mark.parametrize("by", ["address", "header"])
def test_a_page_gets_no_line_twice(follow: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    stamps = [f"2026-01-01T00:00:00.00000000{n}Z" for n in (1, 2, 3)]
    asked: list[Any] = []

    def logs(*_args: Any, since: Any, **_kwargs: Any) -> Iterator[bytes]:
        asked.append(since)
        yield from (f"{stamp} {number}".encode() for number, stamp in enumerate(stamps))

    monkeypatch.setattr(engine, "logs", logs)
    answer = follow(f"?after={LATER}") if by == "address" else follow("?after=x", **{"Last-Event-ID": LATER})
    assert [line["at"] for line in lines_of(events_of(answer.streaming_content))] == [LATEST]
    assert asked[0] is not None


@pytest.mark.parametrize("end", ["\r", "\n\n", "\x85", "\u2028", "</script>"])
def test_no_line_can_inject_a_field_or_an_event(follow: Any, project: Project, engine: MemoryEngine, end: str) -> None:
    engine.log(project.container_name, f"one{end}event: end{end}data: forged{end}id: 7")
    engine.exit(project.container_name)
    events = [event for event in events_of(follow().streaming_content) if event != ": still here"]
    assert len(events) == 2
    assert [line.partition(": ")[0] for line in events[0].splitlines()] == ["id", "data"]


@pytest.mark.parametrize("after", ["", "x", "\0", "9999-99-99T00:00:00Z", "2026-01-01", "-1", "x" * 5000])
def test_an_invalid_time_returns_the_last_lines(
    follow: Any, project: Project, engine: MemoryEngine, after: str
) -> None:
    engine.log(project.container_name, f"hello {CANARY_API_KEY}")
    engine.exit(project.container_name)
    answer = follow(f"?after={after}")
    assert [line["text"] for line in lines_of(events_of(answer.streaming_content))] == ["hello [redacted]"]


@pytest.mark.parametrize("how", ["ended", "expired"])
def test_the_stream_ends_with_the_session(
    follow: Any, dashboard: Client, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0)
    engine.silence = 0.05
    events = events_of(follow().streaming_content)
    next(events)
    assert SESSION_KEY in dashboard.session
    if how == "ended":
        dashboard.session.flush()
    else:
        Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert "event: error" in list(events)[-1]
    assert not LongRequest.objects.exists()


def test_the_stream_ends_with_the_project_and_frees_its_lease(
    follow: Any, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0)
    engine.silence = 0.05
    events = events_of(follow().streaming_content)
    next(events)
    Project.objects.all().delete()
    assert list(events)[-1] == "event: error\ndata: The project was deleted meanwhile."


def test_a_user_has_five_at_a_time(follow: Any, engine: MemoryEngine) -> None:
    engine.silence = 0.05
    statuses = [follow().status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_a_silent_engine_is_reported_with_status_and_sentence(follow: Any, engine: MemoryEngine) -> None:
    engine.unavailable = True
    answer = follow()
    assert answer.status_code == 503
    assert "does not answer" in answer.content.decode()


@pytest.mark.parametrize("below", ["/log", "/log.txt", "/events.csv"])
def test_nobody_else_gets_the_log(bob: User, project: Project, client: Client, below: str) -> None:
    path = path_of(project, below)
    assert client.get(path).url == f"/sign-in?next={path}"  # type: ignore[attr-defined]  # a redirect has it
    client.force_login(bob)
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 405


def test_the_downloaded_log_has_no_credentials(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    for number in range(300):
        engine.log(project.container_name, f"line {number} {CANARY_API_KEY}")
    answer = dashboard.get(path_of(project, "/log.txt"))
    lines = answer.content.decode().splitlines()
    assert len(lines) == 300
    assert lines[0].endswith(" line 0 [redacted]")
    assert answer["Content-Disposition"] == f'attachment; filename="log-{project.pk}-run-1.txt"'
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert dashboard.get(path_of(project, "/log.txt?run=7")).status_code == 404
    engine.unavailable = True
    assert dashboard.get(path_of(project, "/log.txt")).status_code == 503
