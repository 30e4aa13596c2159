"""Connections to PostgreSQL: limited in time, checked, replaced."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, ProgrammingError, connections, transaction
from django.utils.connection import ConnectionProxy

from config.database import limits
from config.database.faults import Fault, find_fault
from config.database.postgresql import base
from projects.models import EventCursor

connection: Any = ConnectionProxy(connections, "default")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


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


OTHER_DEFAULTS = {
    "datestyle": "German, DMY",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "-3",
    "timezone": "Pacific/Kiritimati",
    "default_transaction_isolation": "serializable",
}


def test_defaults_that_other_programs_need_change_nothing(other: psycopg.Connection[Any]) -> None:
    """With another date style, every request that read a moment was answered with a 500."""
    connection.ensure_connection()
    database = connection.settings_dict["NAME"]
    for name, value in OTHER_DEFAULTS.items():
        other.execute(f"ALTER DATABASE \"{database}\" SET {name} = '{value}'")
    try:
        connection.close_pool()
        connection.connection = None
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT timestamptz '2026-11-28 12:00+00', interval '-90 minutes', '\\xff00'::bytea, 0.1 + 0.2::float"
            )
            row = cursor.fetchone()
        assert row == (datetime(2026, 11, 28, 12, tzinfo=UTC), timedelta(minutes=-90), b"\xff\x00", 0.1 + 0.2)
        assert server_setting("transaction_isolation") == "read committed"
    finally:
        for name in OTHER_DEFAULTS:
            other.execute(f'ALTER DATABASE "{database}" RESET {name}')
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


def test_a_locked_row_is_reported_as_busy(other: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> None:
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
