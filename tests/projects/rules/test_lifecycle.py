"""How crashes are counted, and what counts as up."""

from datetime import datetime

import pytest
from hypothesis import given

from projects.rules.status.lifecycle import (
    CRASH_LIMIT,
    CRASH_WINDOW,
    Facts,
    count_crashes,
    is_crash_loop,
)
from projects.rules.status.statuses import Status
from tests.projects.rules.facts import ANY_FACTS, DOWN, LONG_AGO, MOMENT, NOW


@pytest.mark.parametrize(
    ("since", "count", "more", "expected"),
    [
        (None, 0, 1, (NOW, 1)),
        (None, 4, 1, (NOW, 1)),
        (NOW, 1, 1, (NOW, 2)),
        (NOW - CRASH_WINDOW, 4, 1, (NOW - CRASH_WINDOW, 5)),
        (NOW - CRASH_WINDOW - MOMENT, 4, 1, (NOW, 1)),
        (NOW - CRASH_WINDOW - MOMENT, 4, 3, (NOW, 3)),
        (LONG_AGO, 99, 7, (NOW, 7)),
    ],
)
def test_crashes_count_within_ten_minutes(
    since: datetime | None, count: int, more: int, expected: tuple[datetime, int]
) -> None:
    assert count_crashes(since=since, count=count, more=more, now=NOW) == expected


@pytest.mark.parametrize("exit_code", [None, *range(256)])
def test_five_crashes_are_a_loop_and_a_fatal_exit_is_at_once(exit_code: int | None) -> None:
    fatal = exit_code in {20, 21, 30, 31, 32, 40}
    assert [is_crash_loop(exit_code=exit_code, count=count) for count in (0, 1, 4, 5, 6)] == [fatal] * 3 + [True] * 2


def test_a_loop_is_five_crashes_in_ten_minutes() -> None:
    assert CRASH_LIMIT == 5
    assert CRASH_WINDOW.total_seconds() == 600
    assert "five times in ten minutes" in Status.CRASHED.traits.meaning


@given(ANY_FACTS)
def test_a_status_counts_as_up_if_there_may_be_processes(known: Facts) -> None:
    assert known.is_up == (known.state not in DOWN)
