"""If several machines share a database, its clock is the present time."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, connections
from django.utils import timezone
from django.utils.connection import ConnectionProxy

from accounts import clock

connection: Any = ConnectionProxy(connections, "default")

STEPS = [timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1)]
NEAR = timedelta(seconds=5)
"""A margin for slow machines, far below any of the steps."""


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    clock._known.clear()
    yield
    clock._known.clear()


def step(patch: pytest.MonkeyPatch, by: timedelta) -> None:
    """The clock of this machine steps; the monotonic one and the database's do not."""
    real = time.time
    patch.setattr(time, "time", lambda: real() + by.total_seconds())
    patch.setattr(timezone, "now", lambda: datetime.fromtimestamp(time.time(), UTC))


@pytest.mark.django_db
@pytest.mark.postgres_only
@pytest.mark.parametrize("read", [timezone.now, clock.now], ids=["that was wrong from the start", "that steps later"])
@pytest.mark.parametrize("by", STEPS, ids=str)
def test_a_clock_that_is_wrong_is_noticed_at_once(
    by: timedelta, read: Callable[[], datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's clock is used then."""
    before = read()
    step(monkeypatch, by)
    assert before - NEAR < clock.now() < before + NEAR


@pytest.mark.django_db
@pytest.mark.postgres_only
def test_clocks_that_agree_are_left_alone_and_the_database_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[datetime] = []
    ask = clock._ask

    def note() -> datetime:
        asked.append(ask())
        return asked[-1]

    monkeypatch.setattr(clock, "_ask", note)
    monkeypatch.setattr(clock, "SAME", timedelta(seconds=30))
    times = [moment for _ in range(50) for moment in (timezone.now(), clock.now())]
    assert times == sorted(times)
    assert len(asked) <= 1 + (times[-1] - times[0]).total_seconds() // clock.ASK_EVERY


@pytest.mark.django_db
@pytest.mark.postgres_only
def test_a_silent_database_keeps_the_known_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> datetime:
        raise DatabaseError

    clock.now()
    monkeypatch.setattr(clock, "_ask", refuse)
    step(monkeypatch, timedelta(days=1))
    assert abs(clock.now() - timezone.now()) < NEAR


@pytest.mark.parametrize("answers_late", [0.1, 1.5, 8.0])
@pytest.mark.parametrize("asked_late", [0.1, 1.5, 8.0])
@pytest.mark.parametrize("ahead", [0.0, 0.6, -0.6, 3.0, -3.0, 600.0, -600.0])
def test_a_slow_answer_of_the_database_is_not_taken_for_a_difference_of_the_clocks(
    ahead: float, asked_late: float, answers_late: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a busy database would set this machine's clock back, where each new heartbeat and lease lies in the
    future and so counts as none. The difference is known from a quick answer before, unless there is none."""
    passed, late = 0.0, (0.0, 0.0)
    began = datetime(2026, 1, 1, tzinfo=UTC)

    def wait(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    def ask() -> datetime:
        wait(late[0])
        read = began + timedelta(seconds=passed + ahead)
        wait(late[1])
        return read

    def error() -> float:
        return abs((clock.now() - began).total_seconds() - passed - ahead)

    there = SimpleNamespace(vendor="postgresql", alias="slow", ensure_connection=lambda: wait(sum(late)))
    monkeypatch.setattr(clock, "connection", there)
    monkeypatch.setattr(clock, "_ask", ask)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + passed)
    monkeypatch.setattr(time, "time", lambda: began.timestamp() + passed)
    monkeypatch.setattr(timezone, "now", lambda: began + timedelta(seconds=passed))
    assert error() < 0.001
    late = asked_late, answers_late
    wait(clock.ASK_EVERY)
    assert error() < 0.001
    clock._known.clear()
    assert error() <= (max(late) if ahead else 0.0) + 0.001


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres_only
@pytest.mark.parametrize("by", STEPS, ids=str)
def test_a_new_connection_may_lead_to_a_server_with_another_clock(
    by: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that has asked the new server would call a claim of this one expired."""
    ask = clock._ask
    monkeypatch.setattr(clock, "_ask", lambda: ask() + by)
    assert abs(clock.now() - timezone.now()) > NEAR
    monkeypatch.setattr(clock, "_ask", ask)
    connection.close()
    connection.close_pool()
    connection.ensure_connection()
    assert abs(clock.now() - timezone.now()) < NEAR


@pytest.mark.django_db
def test_nothing_is_asked_of_sqlite() -> None:
    if connection.vendor == "sqlite":
        clock.now()
        assert not clock._known
