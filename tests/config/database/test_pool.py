"""The pool of connections to PostgreSQL: dead ones cost no request, and those of a burst are closed again."""

import threading
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connections, transaction
from django.utils.connection import ConnectionProxy

from config.database import limits
from config.database.faults import Fault, find_fault
from config.database.postgresql import base
from config.database.postgresql.connection import BoundedConnection
from projects.models import EventCursor
from tests.waiting import wait_until

connection: Any = ConnectionProxy(connections, "default")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


@pytest.mark.parametrize("in_transaction", [False, True])
def test_connections_that_died_in_the_pool_cost_no_request(
    other: psycopg.Connection[Any], in_transaction: bool
) -> None:
    """After a restart of the server all of them are dead."""
    fill_pool(6)
    connection.close()
    other.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(8):
        with transaction.atomic() if in_transaction else limits.time_limit(60):
            assert EventCursor.objects.count() == 0
        connection.close()


def test_the_connections_that_a_burst_has_opened_are_closed_soon() -> None:
    """A fault of the database causes such a burst: all requests of that time are repeated at once."""
    connection.close()
    connection.close_pool()
    pool = connection.pool
    pool.max_idle /= 50
    try:
        assert fill_pool(6) >= 6
        wait_until(lambda: pool.get_stats()["pool_size"] == pool.min_size, within=20)
    finally:
        connection.close_pool()


def fill_pool(number: int) -> int:
    """Uses so many connections at once. Returns the size of the pool meanwhile."""
    sizes: list[int] = []
    barrier = threading.Barrier(number, action=lambda: sizes.append(connection.pool.get_stats()["pool_size"]))

    def use() -> None:
        EventCursor.objects.count()
        barrier.wait(60)
        connection.close()

    threads = [threading.Thread(target=use) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sizes[0]


def test_a_pool_without_a_free_connection_is_not_waited_for_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.close()
    pool = connection.pool
    pool.open()
    held = [pool.getconn() for _ in range(pool.max_size)]
    try:
        with limits.time_limit(0.1), pytest.raises(OperationalError) as raised:
            connection.ensure_connection()
        assert find_fault(raised.value) is Fault.SILENT
    finally:
        for each in held:
            pool.putconn(each)
    assert EventCursor.objects.count() == 0


def test_the_check_of_connections_has_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that has vanished answers no check, and there may be twenty connections to it."""
    fill_pool(4)
    connection.close()
    asked: list[float | None] = []

    def answers(_self: object) -> bool:
        asked.append(limits.seconds_left())
        return False

    monkeypatch.setattr(BoundedConnection, "answers", answers)
    assert EventCursor.objects.count() == 0  # over a new one
    assert asked
    assert all(seconds is not None and seconds <= base.CHECK for seconds in asked)
