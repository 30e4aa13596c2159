"""The ends of runs, from the engine's events."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.vocabulary import EngineEvent
from projects.watcher.ends.run_ends import MOST, RunEnds

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def event(action: str, second: float, **fields: Any) -> EngineEvent:
    return EngineEvent(key="k", action=action, at=NOW + timedelta(seconds=second), container_id="c", **fields)


def heard(*events: EngineEvent) -> RunEnds:
    ends = RunEnds()
    for each in events:
        ends.note(each)
    return ends


@pytest.mark.parametrize("order", list(itertools.permutations(["oom", "die"])), ids="-".join)
def test_an_oom_event_counts_before_or_after_the_end(order: tuple[str, ...]) -> None:
    told = [
        event(action, 10 + number, **({"exit_code": 137} if action == "die" else {}))
        for number, action in enumerate(order)
    ]
    end = heard(event("start", 1), *told).find("c")
    assert end is not None
    assert (end.exit_code, end.oom_killed) == (137, True)


def test_each_run_has_a_separate_end() -> None:
    ends = heard(event("start", 1), event("oom", 2), event("die", 3, exit_code=137), event("start", 4))
    first = ends.find("c")
    ends.note(event("die", 5, exit_code=1))
    second = ends.find("c")
    assert first is not None
    assert second is not None
    assert (first.began_at, first.oom_killed) == (NOW + timedelta(seconds=1), True)
    assert (second.began_at, second.exit_code, second.oom_killed) == (NOW + timedelta(seconds=4), 1, False)


def test_an_oom_event_of_a_continuing_run_does_not_explain_the_previous_end() -> None:
    ends = heard(event("start", 1), event("die", 2, exit_code=137), event("start", 3), event("oom", 40))
    end = ends.find("c")
    assert end is not None
    assert not end.oom_killed


def test_a_late_oom_event_explains_the_previous_run_although_the_next_has_begun() -> None:
    """An engine that restarts a container at once reports it only after the start."""
    ends = heard(event("start", 1), event("die", 20, exit_code=137), event("start", 30), event("oom", 30.2))
    first = ends.find("c")
    ends.note(event("die", 90, exit_code=137))
    second = ends.find("c")
    assert first is not None
    assert second is not None
    assert (first.oom_killed, second.oom_killed) == (True, False)


def test_an_immediate_oom_is_recognised_independently_of_the_previous_run() -> None:
    began = [event("start", 1), event("die", 20, exit_code=137), event("start", 30), event("oom", 30.5)]
    end = heard(*began, event("die", 31, exit_code=137)).find("c")
    assert end is not None
    assert end.oom_killed


@pytest.mark.parametrize("exit_code", [0, 1, 20, 139, 143])
def test_an_end_without_a_kill_is_never_an_oom(exit_code: int) -> None:
    ended = heard(event("die", 20, exit_code=exit_code), event("start", 30), event("oom", 30.2), event("oom", 30.4))
    end = ended.find("c")
    assert end is not None
    assert not end.oom_killed
    ended.note(event("die", 31, exit_code=137))
    end = ended.find("c")
    assert end is not None
    assert end.oom_killed


def test_an_end_event_gives_the_state_until_a_start_or_a_gap_in_the_events() -> None:
    ends = heard(event("start", 1))
    told = []
    for each in (event("die", 2, exit_code=1), event("start", 3), event("die", 4, exit_code=1)):
        ends.note(each)
        end = ends.find("c")
        told.append((end is not None and end.is_present, ends.keys_of_ended()))
    assert told == [(True, {"k"}), (False, {"k"}), (True, {"k"})]
    ends.note_gap()
    end = ends.find("c")
    assert end is not None
    assert not end.is_present
    assert ends.keys_of_ended() == set()


def test_an_old_end_event_does_not_give_the_current_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.watcher.ends.run_ends.LATELY", 0.0)
    ends = heard(event("die", 2, exit_code=1))
    end = ends.find("c")
    assert end is not None
    assert not end.is_present


def test_the_remembered_ends_are_limited() -> None:
    ends = RunEnds()
    for number in range(MOST + 10):
        ends.note(EngineEvent(key="k", action="die", at=NOW, container_id=str(number), exit_code=1))
    assert ends.find("0") is None
    assert ends.find(str(MOST + 9)) is not None


def test_a_removed_container_is_no_longer_down() -> None:
    ends = heard(event("die", 1, exit_code=1), event("destroy", 2))
    end = ends.find("c")
    assert end is not None
    assert (end.is_removed, end.is_present, end.exit_code) == (True, False, 1)
    assert ends.keys_of_ended() == set()
    assert heard(event("destroy", 2)).find("c") is None
