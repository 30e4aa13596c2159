"""Connections to PostgreSQL: bounded, checked, replaced."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, ProgrammingError, connections, transaction
from django.utils.connection import ConnectionProxy

from config.database import limits
from config.database.faults import Fault, find_fault
from config.database.postgresql import base
from config.database.postgresql.connection import BoundedConnection
from projects.models import EventCursor

connection: Any = ConnectionProxy(connections, "default")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


@pytest.fixture
def other() -> Iterator[psycopg.Connection[Any]]:
    """A connection to the same database that has nothing to do with the service."""
    parameters = connection.get_connection_params()
    chosen = {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}
    with psycopg.connect(**chosen, autocommit=True) as made:
        yield made


def server_setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_the_server_limits_locks_statements_and_forgotten_transactions() -> None:
    assert server_setting("lock_timeout") == "8s"
    assert server_setting("statement_timeout") == "10s"
    assert server_setting("idle_in_transaction_session_timeout") == "1min"
    assert server_setting("client_connection_check_interval") == "2s"


def test_the_kernel_notices_a_host_that_vanished() -> None:
    connection.ensure_connection()
    asked = connection.connection.info.get_parameters()
    assert (asked["connect_timeout"], asked["tcp_user_timeout"], asked["keepalives_idle"]) == ("3", "10000", "5")


def test_a_limit_of_the_server_that_is_stricter_stays(other: psycopg.Connection[Any]) -> None:
    connection.ensure_connection()
    database = connection.settings_dict["NAME"]
    other.execute(f'ALTER DATABASE "{database}" SET lock_timeout = 1500')
    try:
        connection.close_pool()
        connection.connection = None
        assert server_setting("lock_timeout") == "1500ms"
        assert server_setting("statement_timeout") == "10s"
    finally:
        other.execute(f'ALTER DATABASE "{database}" RESET lock_timeout')
        connection.close()
        connection.close_pool()


def test_an_answer_that_does_not_come_ends_the_wait_and_the_connection() -> None:
    before = backend()
    with limits.time_limit(0.2), pytest.raises(OperationalError, match="did not answer in time") as raised:
        connection.cursor().execute("SELECT pg_sleep(60)")
    assert find_fault(raised.value) is Fault.SILENT
    connection.close()
    assert backend() != before


def test_without_time_nothing_is_sent() -> None:
    connection.ensure_connection()
    with limits.time_limit(-1), pytest.raises(OperationalError, match="time limit for the database has passed"):
        connection.cursor().execute("SELECT 1")
    assert connection.is_usable()


def test_a_locked_row_is_told_as_busy(other: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    EventCursor.objects.create(name="locked", last_event_id=1)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 50")
    try:
        with other.transaction():
            other.execute("SELECT 1 FROM projects_eventcursor FOR UPDATE")
            with pytest.raises(OperationalError) as raised:
                EventCursor.objects.update(last_event_id=2)
        assert find_fault(raised.value) is Fault.BUSY
        assert EventCursor.objects.update(last_event_id=3) == 1
    finally:
        connection.close()
        connection.close_pool()


@pytest.mark.parametrize("in_transaction", [False, True])
def test_connections_that_died_in_the_pool_cost_no_request(
    other: psycopg.Connection[Any], in_transaction: bool
) -> None:
    """After a restart of the server every one of them is dead."""
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


def fill_pool(number: int) -> None:
    barrier = threading.Barrier(number)

    def use() -> None:
        backend()
        barrier.wait(60)
        connection.close()

    threads = [threading.Thread(target=use) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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


def test_a_migration_waits_shortly_for_locks_and_is_not_limited_otherwise() -> None:
    with limits.without_limits(), limits.time_limit(-1), connection.migration_limits():
        assert (server_setting("lock_timeout"), server_setting("statement_timeout")) == ("2s", "0")
    assert (server_setting("lock_timeout"), server_setting("statement_timeout")) == ("8s", "10s")


def test_a_migration_that_fails_gives_the_pool_a_connection_with_the_usual_limits() -> None:
    with pytest.raises(ProgrammingError), connection.migration_limits():
        connection.cursor().execute("SELECT 1 FROM there_is_no_such_table")
    assert (server_setting("lock_timeout"), server_setting("statement_timeout")) == ("8s", "10s")


@pytest.mark.django_db
def test_the_command_migrates_within_a_transaction_too() -> None:
    with transaction.atomic():
        call_command("migrate", verbosity=0, interactive=False)
        assert server_setting("lock_timeout") == "8s"


@pytest.mark.parametrize("trusted", [0.0, 60.0])
def test_a_connection_that_was_left_in_a_transaction_is_good_again(
    trusted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "TRUSTED", trusted)
    left = connection.copy()
    left.set_autocommit(False)
    with left.cursor() as cursor:
        cursor.execute("SELECT 1")
    left.close()
    connection.close()
    for _ in range(2):
        assert connection.run_read(EventCursor.objects.count) == 0
        connection.close()
