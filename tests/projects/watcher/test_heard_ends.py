"""What the engine's events tell of the ends of runs."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.vocabulary import EngineEvent
from projects.watcher.ends import MOST, Ends

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
    ends = heard(event("start", 1), event("die", 2, exit_code=137), event("start", 3), event("oom", 4))
    end = ends.find("c")
    assert end is not None
    assert not end.oom_killed


def test_what_is_remembered_is_bounded() -> None:
    ends = Ends()
    for number in range(MOST + 10):
        ends.note(EngineEvent(key="k", action="die", at=NOW, container_id=str(number), exit_code=1))
    assert ends.find("0") is None
    assert ends.find(str(MOST + 9)) is not None
    ends.note(EngineEvent(key="k", action="destroy", at=NOW, container_id=str(MOST + 9)))
    assert ends.find(str(MOST + 9)) is None
