"""GET /api/events?follow=true: statuses as they change, and events as they happen."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from projects.api.lists.event_pages import show_id
from projects.api.streams import statuses as status_stream
from projects.api.streams.long_requests import PER_USER
from projects.models import Actor, Event, LongRequest, Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.following import hang_up

Follow = Callable[..., Iterator[tuple[str, Any, str]]]


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_stream, "POLL_SECONDS", 0.01)


@pytest.fixture
def follow(api: APIClient) -> Iterator[Follow]:
    """Follows, and yields name, data and id of each event; the name `silence` stands for a comment."""
    opened: list[Any] = []

    def read(answer: Any) -> Iterator[tuple[str, Any, str]]:
        for chunk in answer.streaming_content:
            lines = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines() if line[0] != ":")
            name, data = lines.get("event", "silence"), lines.get("data", "null")
            yield name, json.loads(data) if name != "error" else data, lines.get("id", "")

    def open_stream(client: APIClient = api, **headers: str) -> Iterator[tuple[str, Any, str]]:
        answer = client.get("/api/events?follow=true", headers=headers)
        assert answer["Content-Type"].startswith("text/event-stream"), answer.content
        opened.append(answer)
        return read(answer)

    yield open_stream
    for answer in opened:
        hang_up(answer)


def until(stream: Any, name: str) -> tuple[Any, str]:
    return next((data, event_id) for found, data, event_id in stream if found == name)


def test_the_stream_begins_with_each_project_and_continues_with_changes(
    api: APIClient, follow: Follow, project: Project
) -> None:
    stream = follow()
    assert next(stream) == ("status", api.get("/api/projects").json()[0], "")
    assert next(stream)[0] == "silence"
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "stop"}).status_code == 200
    told, _ = until(stream, "status")
    assert (told["id"], told["status"]) == (str(project.pk), "stopped")
    event, event_id = until(stream, "event")
    assert (event["project"], event["action"], event["id"]) == (str(project.pk), "stop", event_id)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    assert until(stream, "gone")[0] == {"id": str(project.pk)}


def test_changes_that_only_the_engine_knows_are_sent_too(
    follow: Follow, project: Project, engine: MemoryEngine
) -> None:
    stream = follow()
    assert until(stream, "status")[0]["status"] == "running"
    engine.unavailable = True
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    assert until(stream, "status")[0]["status"] == "unknown"


def test_a_reader_resumes_after_its_last_event(api: APIClient, follow: Follow, alice: User, project: Project) -> None:
    for action in ("one", "two", "three"):
        project.event(_actor(alice), action, "ok").save()
    listed = [(each["action"], each["id"]) for each in api.get("/api/events?limit=3").json()][::-1]
    Event.objects.exclude(action__in=["one", "two", "three"]).update(at=timezone.now() - timedelta(minutes=1))
    stream = follow(**{"last-event-id": listed[0][1]})
    assert [until(stream, "event")[1] for _ in range(2)] == [event_id for _, event_id in listed[1:]]
    assert next(stream)[0] == "silence"


def _actor(user: User) -> Any:
    return Actor(label=user.email, source="session")


def test_nobody_gets_events_of_another_user(follow: Follow, bobs_api: APIClient, bob: User, project: Project) -> None:
    stream = follow(bobs_api)
    assert next(stream)[0] == "silence"
    project.event(_actor(bob), "start", "ok").save()
    Project.objects.update(name="Renamed")
    assert [next(stream)[0] for _ in range(3)] == ["silence"] * 3
    newest = show_id(Event.objects.order_by("-pk")[0].pk)
    answer = bobs_api.get("/api/events?follow=true", headers={"last-event-id": str(newest)})
    assert_problem(answer, 400, "invalid", field="Last-Event-ID")


def test_the_stream_ends_with_the_token(follow: Follow, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.services.still_signed_in.ASK_AGAIN_AFTER", 0.0)
    stream = follow()
    assert next(stream)[0] == "silence"
    User.objects.filter(pk=alice.pk).update(session_version=99)
    assert [name for name, _, _ in stream][-1] == "error"
    assert not LongRequest.objects.exists()


def test_places_are_bounded_and_given_back(api: APIClient, follow: Follow) -> None:
    streams = [follow() for _ in range(PER_USER)]
    assert_problem(api.get("/api/events?follow=true"), 429, "throttled")
    assert LongRequest.objects.count() == len(streams)


def test_no_database_connection_is_held_while_the_stream_waits(
    follow: Follow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[int] = []
    monkeypatch.setattr(status_stream, "release_connection", lambda: released.append(1))
    stream = follow()
    next(stream)
    assert released == [1]  # before the first byte is sent, whose reader may be slow
    with connection.execute_wrapper(_no_query):
        assert next(stream)[0] == "silence"


def _no_query(*_: Any) -> Any:
    raise AssertionError("Asked the database between two looks.")


def test_a_name_breaks_no_line(api: APIClient, follow: Follow, project: Project) -> None:
    Project.objects.update(name="a\u2028\u0085b\r\nevent: forged\n\ndata: x")
    (told, _) = until(follow(), "status")
    assert told["name"] == "a\u2028\u0085b\r\nevent: forged\n\ndata: x"


def make_event(owner: User, action: str, *, seconds_ago: float = 0.0) -> Event:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    return Event.objects.create(
        owner_id=owner.pk, project_id=uuid4(), at=at, actor="x", source="x", action=action, outcome="ok"
    )


@pytest.mark.parametrize("seconds_later", [0, 4])
def test_a_reader_that_comes_back_gets_what_was_written_late_meanwhile(
    follow: Follow, alice: User, seconds_later: int
) -> None:
    """A transaction inserts the older one, and commits after the reader has got the younger one and has gone."""
    make_event(alice, "long ago", seconds_ago=60)
    first = make_event(alice, "first", seconds_ago=9 + seconds_later)
    last = make_event(alice, "younger", seconds_ago=1 + seconds_later)
    make_event(alice, "older", seconds_ago=2 + seconds_later)
    make_event(alice, "next")
    stream = follow(**{"last-event-id": str(show_id(last.pk))})
    got = [until(stream, "event") for _ in range(3)]
    assert [event["action"] for event, _ in got] == ["first", "older", "next"]
    assert got[0][1] == str(show_id(first.pk)), "By its id the reader knows that it has this one."
    assert next(stream)[0] == "silence"


def test_a_new_reader_gets_what_is_written_late_and_nothing_that_it_could_have_read(
    follow: Follow, alice: User
) -> None:
    make_event(alice, "before", seconds_ago=1)
    stream = follow()
    assert next(stream)[0] == "silence"
    make_event(alice, "late", seconds_ago=2)
    make_event(alice, "next")
    assert [until(stream, "event")[0]["action"] for _ in range(2)] == ["late", "next"]
    assert next(stream)[0] == "silence"
