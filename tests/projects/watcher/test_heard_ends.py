"""What the engine's events tell of the ends of runs."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.vocabulary import EngineEvent
from projects.watcher.ends.ends import MOST, Ends

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def event(action: str, second: float, **fields: Any) -> EngineEvent:
    return EngineEvent(key="k", action=action, at=NOW + timedelta(seconds=second), container_id="c", **fields)


def heard(*events: EngineEvent) -> Ends:
    ends = Ends()
    for each in events:
        ends.note(each)
    return ends


@pytest.mark.parametrize("order", list(itertools.permutations(["oom", "die"])), ids="-".join)
def test_memory_that_ran_out_is_told_before_the_end_or_after_it(order: tuple[str, ...]) -> None:
    told = [
        event(action, 10 + number, **({"exit_code": 137} if action == "die" else {}))
        for number, action in enumerate(order)
    ]
    end = heard(event("start", 1), *told).find("c")
    assert end is not None
    assert (end.exit_code, end.oom_killed) == (137, True)


def test_each_run_has_its_own_end() -> None:
    ends = heard(event("start", 1), event("oom", 2), event("die", 3, exit_code=137), event("start", 4))
    first = ends.find("c")
    ends.note(event("die", 5, exit_code=1))
    second = ends.find("c")
    assert first is not None
    assert second is not None
    assert (first.began_at, first.oom_killed) == (NOW + timedelta(seconds=1), True)
    assert (second.began_at, second.exit_code, second.oom_killed) == (NOW + timedelta(seconds=4), 1, False)


def test_memory_that_runs_out_in_a_run_that_goes_on_says_nothing_of_the_one_before() -> None:
    ends = heard(event("start", 1), event("die", 2, exit_code=137), event("start", 3), event("oom", 40))
    end = ends.find("c")
    assert end is not None
    assert not end.oom_killed


def test_memory_that_ran_out_is_told_of_the_run_before_although_the_next_has_begun() -> None:
    """An engine that starts a container again at once tells it only behind the start."""
    ends = heard(event("start", 1), event("die", 20, exit_code=137), event("start", 30), event("oom", 30.2))
    first = ends.find("c")
    ends.note(event("die", 90, exit_code=137))
    second = ends.find("c")
    assert first is not None
    assert second is not None
    assert (first.oom_killed, second.oom_killed) == (True, False)


def test_a_run_that_runs_out_of_memory_at_once_is_told_as_such_whatever_was_told_of_the_one_before() -> None:
    began = [event("start", 1), event("die", 20, exit_code=137), event("start", 30), event("oom", 30.5)]
    end = heard(*began, event("die", 31, exit_code=137)).find("c")
    assert end is not None
    assert end.oom_killed


@pytest.mark.parametrize("exit_code", [0, 1, 20, 139, 143])
def test_an_end_that_was_no_kill_is_never_one_of_memory(exit_code: int) -> None:
    ended = heard(event("die", 20, exit_code=exit_code), event("start", 30), event("oom", 30.2), event("oom", 30.4))
    end = ended.find("c")
    assert end is not None
    assert not end.oom_killed
    ended.note(event("die", 31, exit_code=137))
    end = ended.find("c")
    assert end is not None
    assert end.oom_killed


def test_an_end_tells_how_a_container_is_until_it_is_started_or_something_was_missed() -> None:
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


def test_an_end_of_long_ago_tells_nothing_of_how_a_container_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.watcher.ends.ends.LATELY", 0.0)
    ends = heard(event("die", 2, exit_code=1))
    end = ends.find("c")
    assert end is not None
    assert not end.is_present


def test_what_is_remembered_is_bounded() -> None:
    ends = Ends()
    for number in range(MOST + 10):
        ends.note(EngineEvent(key="k", action="die", at=NOW, container_id=str(number), exit_code=1))
    assert ends.find("0") is None
    assert ends.find(str(MOST + 9)) is not None
    ends.note(EngineEvent(key="k", action="destroy", at=NOW, container_id=str(MOST + 9)))
    assert ends.find(str(MOST + 9)) is None
