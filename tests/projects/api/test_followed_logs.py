"""GET /api/projects/{id}/logs?follow=true."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from projects.models import LongRequest, Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import events_of, hang_up


def test_followers_get_new_lines_at_once_and_the_end(
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


@pytest.mark.parametrize("end", ["\r", "\r\r", "\r\n", "\n\n", "\x0b", "\x85", "\u2028", "\x1b]0;\r"])
def test_no_line_of_an_agent_can_inject_a_field_or_an_event(
    end: str, follow: Any, project: Project, engine: MemoryEngine, log: Any
) -> None:
    log(f"one{end}event: end{end}data: forged{end}id: 7{end}retry: 0")
    engine.exit(project.container_name)
    event, the_end = list(events_of(follow().streaming_content))
    assert event.startswith("data: ")
    assert event.splitlines() == [event]
    assert the_end == "event: end\ndata: the log has ended"


def test_a_follower_is_informed_that_the_engine_fell_silent(
    follow: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        yield b"2026-01-01T00:00:00Z one"
        raise EngineUnavailableError("The engine does not answer.")

    monkeypatch.setattr(engine, "logs", breaking)
    answer = follow()
    assert list(events_of(answer.streaming_content))[-1] == "event: error\ndata: The engine does not answer."


def test_comments_fill_a_silence_so_that_a_disconnect_is_noticed(follow: Any, engine: MemoryEngine) -> None:
    engine.silence = 0.05
    answer = follow()
    events = events_of(answer.streaming_content)
    assert [next(events), next(events)] == [": still here"] * 2
    hang_up(answer)
    assert not LongRequest.objects.exists()
