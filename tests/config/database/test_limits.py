"""How long a thread may wait for the database."""

import threading

import pytest

from config.database.limits import (
    AFTER_FAULT,
    ANSWER,
    REQUEST,
    has_failed,
    note_fault,
    request_limits,
    seconds_left,
    time_limit,
    waiting,
    without_limits,
)

pytestmark = pytest.mark.hurried


def test_outside_requests_each_wait_is_limited() -> None:
    assert seconds_left() == ANSWER


def test_a_query_has_at_most_the_rest_of_its_request_s_time() -> None:
    with request_limits(5.0):
        left = seconds_left()
        assert left is not None
        assert left <= 5.0
    with request_limits(-1.0):
        assert seconds_left() == 0.0
    assert seconds_left() == ANSWER


def test_the_waits_of_a_request_are_limited_together() -> None:
    with request_limits(1000.0):
        assert seconds_left() == REQUEST
        with waiting():
            threading.Event().wait(0.01)
        left = seconds_left()
        assert left is not None
        assert left < REQUEST


def test_after_a_fault_a_request_waits_little_more() -> None:
    with request_limits(1000.0):
        note_fault()
        assert seconds_left() == AFTER_FAULT
        assert has_failed()
    assert not has_failed()
    with request_limits(1000.0):
        assert seconds_left() == REQUEST


def test_the_earliest_of_nested_limits_holds() -> None:
    with time_limit(2.0), time_limit(1000.0):
        left = seconds_left()
        assert left is not None
        assert left <= 2.0
    assert seconds_left() == ANSWER


def test_migrations_have_no_time_limit() -> None:
    with without_limits():
        assert seconds_left() is None
    assert seconds_left() == ANSWER


def test_other_threads_have_separate_limits() -> None:
    found: list[float | None] = []
    with request_limits(-1.0):
        thread = threading.Thread(target=lambda: found.append(seconds_left()))
        thread.start()
        thread.join()
    assert found == [ANSWER]
