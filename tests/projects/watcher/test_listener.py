"""The stream of the engine's events ends, and continues: possible gaps are reported, and nothing comes twice."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from containers.vocabulary import EngineEvent
from projects.watcher import listener
from projects.watcher.heartbeat import Pulse
from projects.watcher.listener import Listener
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

NEWS = EngineEvent(key="x", action="start", at=datetime(2026, 1, 1, tzinfo=UTC), container_id="x", exit_code=None)


@pytest.mark.parametrize("is_broken", [True, False])
def test_the_listener_resumes_after_the_newest_event_or_restarts_after_a_gap(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    asked: list[datetime | None] = []
    missed: list[bool] = []
    heard: list[EngineEvent] = []

    def events(*_: Any, after: datetime | None, **__: Any) -> Iterator[EngineEvent]:
        asked.append(after)
        if len(asked) == 1:
            yield NEWS
        if is_broken or len(asked) > 2:
            raise EngineUnavailableError("It ended the stream.")

    monkeypatch.setattr(engine, "events", events)
    monkeypatch.setattr(listener, "AGAIN", 3600.0)
    made = Listener(heard.append, lambda *, is_broken: missed.append(is_broken), Pulse())
    made.start()
    wait_until(lambda: missed)
    made.stop()
    made._thread.join(10)
    assert (heard, missed) == ([NEWS], [True, True])  # when it breaks, and before the next attempt
    assert asked == ([None] if is_broken else [None, NEWS.at, NEWS.at])


@pytest.mark.parametrize("is_known", [True, False])
def test_after_a_silence_in_which_the_engine_has_forgotten_events_some_are_called_missed(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    told: list[str] = []

    def events(*_: Any, after: datetime | None, **__: Any) -> Iterator[EngineEvent]:
        told.append("opened")
        return iter([NEWS] if after is None else [])

    def find_newest_event(*_: Any, since: datetime, until: datetime) -> datetime | None:
        assert since == NEWS.at <= until
        if not is_known:
            raise EngineUnavailableError("It has done too much to tell.")
        if told.count("opened") > 2:
            made._stopped.set()
        return NEWS.at

    monkeypatch.setattr(engine, "events", events)
    monkeypatch.setattr(engine, "find_newest_event", find_newest_event)

    def miss(*, is_broken: bool) -> None:
        assert not is_broken
        told.append("missed")

    def begin() -> None:
        told.append("begun")
        if told.count("begun") > 1:
            made._stopped.set()

    made = Listener(lambda _: None, miss, Pulse(), begin)
    made._run()
    again = ["opened"] * 2 if is_known else ["opened", "missed", "begun"]
    assert told == ["opened", "begun", *again]
