"""The stream of the engine's events ends, and goes on: what may have been missed is told, and nothing twice."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from containers.vocabulary import EngineEvent
from projects.watcher import listener
from projects.watcher.listener import Listener
from projects.watcher.pulse import Pulse
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until

NEWS = EngineEvent(key="x", action="start", at=datetime(2026, 1, 1, tzinfo=UTC), container_id="x", exit_code=None)


@pytest.mark.parametrize("is_broken", [True, False])
def test_after_a_silence_it_goes_on_behind_the_newest_event_and_after_a_break_from_anew(
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
    assert (heard, missed) == ([NEWS], [True, True])  # as it breaks, and before it is tried again
    assert asked == ([None] if is_broken else [None, NEWS.at, NEWS.at])
