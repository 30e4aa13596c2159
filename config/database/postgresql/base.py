"""Django's backend for PostgreSQL, with connections that are limited in time and checked before use."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.backends.base.base import RAN_DB_VERSION_CHECK
from django.db.backends.postgresql import base
from psycopg import IsolationLevel, sql

from accounts import clock
from config.database.fault_noting import NotesFaults
from config.database.gate import Gate
from config.database.limits import LOCK, MIGRATION_LOCK, STATEMENT, seconds_left, time_limit, waiting
from config.database.postgresql.connection import BoundedConnection, HangingError
from config.database.postgresql.prepared import BinaryCursor, LoggedCursor
from config.database.postgresql.schema import DatabaseSchemaEditor

T = TypeVar("T")

CHECK = 3.0
"""Seconds for the checks of all connections that one thread finds in the pool."""

TRUSTED = 1.0
"""Seconds after an answer during which a read uses an open connection without a check. The check takes as long as a
narrow query."""

FAIR = 2.0
"""Seconds that the server must have had before other threads conclude that it answers nobody."""

SERVER_LIMITS = {
    "lock_timeout": LOCK,
    "statement_timeout": STATEMENT,
    # Limits how long a process that is frozen within a transaction keeps its locks.
    "idle_in_transaction_session_timeout": 60.0,
    # How often the server checks whether the client of a statement that waits for a lock still exists.
    "client_connection_check_interval": 2.0,
}
"""In seconds, by the name of the setting. A setting that the server lacks is skipped, and a stricter value is kept."""

_OWN_SETTINGS = {
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "default_transaction_isolation": "read committed",
}
"""Settings on which queries and psycopg depend. Other programs may need other defaults of the server or the database:
psycopg reads no moment in another style, and under another isolation commands that meet would refuse each other."""

_SET_OWN = "SELECT " + ", ".join("set_config(%s, %s, false)" for _ in _OWN_SETTINGS)

_SET = (
    "SELECT set_config(name, %s, false) FROM pg_settings"
    " WHERE name = %s AND (setting::bigint = 0 OR setting::bigint > %s)"
)


class DatabaseWrapper(NotesFaults, base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
    _gates: ClassVar[dict[str, Gate]] = defaultdict(Gate)

    is_migrating = False
    """Whether `migration_limits` apply."""
    _is_trusting = False

    def __init__(self, settings_dict: dict[str, Any], *args: Any, **options: Any) -> None:
        super().__init__(settings_dict, *args, **options)
        pool = settings_dict["OPTIONS"].get("pool")
        if isinstance(pool, dict):
            pool.setdefault("connection_class", BoundedConnection)

    def is_replaced(self) -> bool:
        """Returns False: connections lead to a server, and not to a file that someone may replace."""
        return False

    def connect(self) -> None:
        """Like Django's, but skips its initialisation of connections that come from the pool."""
        if not self.pool or self.alias not in RAN_DB_VERSION_CHECK:
            super().connect()
            return
        self.in_atomic_block = self.needs_rollback = self.closed_in_transaction = self.errors_occurred = False
        self.savepoint_ids, self.atomic_blocks, self.run_on_commit = [], [], []
        self.health_check_done, self.close_at = True, time.monotonic()
        self.connection = self.get_new_connection({})
        self.autocommit = self.connection.autocommit
        if not self.autocommit:
            self.set_autocommit(True)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Returns a connection over which the server has answered since this call. Replaces dead ones."""
        if not self.pool:
            return super().get_new_connection(conn_params)
        self.isolation_level = IsolationLevel.READ_COMMITTED
        self.pool.open()
        began, patience = time.monotonic(), self._patience()
        with self._gates[self.alias].passing(is_patient=patience >= FAIR):
            while True:
                with waiting():
                    connection = self.pool.getconn(max(0.0, began + patience - time.monotonic()))
                if connection.made_at >= began or (self._is_trusting and _is_trusted(connection)):
                    return connection
                with time_limit(began + CHECK - time.monotonic()):
                    if connection.answers():
                        return connection
                connection.close()
                self.pool.putconn(connection)

    def run_read(self, read: Callable[[], T]) -> T:
        """Runs a read that may be repeated. If it is the thread's first query, it uses a recent connection unchecked,
        and runs again over another one if that connection is dead.
        """
        if self.connection is not None or not self.pool:
            return read()
        self._is_trusting = True
        try:
            return read()
        except (OperationalError, InterfaceError) as error:
            is_dead = self.connection is not None and self.connection.closed
            if not is_dead or isinstance(error.__cause__, HangingError):
                raise
            self.close()
        finally:
            self._is_trusting = False
        return read()

    def prepared_cursor(self, *, is_logged: bool) -> BinaryCursor | LoggedCursor:
        """Returns a cursor for `accounts.database.compiled_query`, which must not import psycopg: SQLite needs none."""
        with self.wrap_database_errors:
            self.ensure_connection()
            return (LoggedCursor if is_logged else BinaryCursor)(self.connection)

    def as_literal(self, value: Any) -> str:
        """Returns the value as an SQL literal, for the constants of a compiled query."""
        self.ensure_connection()
        return sql.Literal(value).as_string(self.connection)

    def _patience(self) -> float:
        """Returns how many seconds this thread waits for a connection."""
        left, longest = seconds_left(), float(self.pool.timeout)
        return longest if left is None else min(longest, left)

    def _configure_connection(self, connection: Any) -> bool:
        changed = super()._configure_connection(connection)  # type: ignore[misc]  # the stubs lack it
        with connection.cursor() as cursor:
            cursor.execute(_SET_OWN, [word for pair in _OWN_SETTINGS.items() for word in pair])
            for name, seconds in SERVER_LIMITS.items():
                cursor.execute(_SET, [str(int(seconds * 1000)), name, int(seconds * 1000)])
            # Only the compiled queries are prepared, and each of them has one good plan for all values.
            cursor.execute(
                "SELECT pg_backend_pid() = %s FROM set_config('plan_cache_mode', 'force_generic_plan', false)",
                [connection.info.backend_pid],
            )
            connection.is_direct = cursor.fetchone()[0]
        clock.ask_again(self.alias)
        return bool(changed) or not connection.autocommit

    def ending_reads(self) -> AbstractContextManager[None]:
        """Does nothing, because each wait for the server ends by itself."""
        return nullcontext()

    @contextmanager
    def migration_limits(self) -> Iterator[None]:
        """Lets statements take as long as they need, but wait only briefly for locks, because others wait behind them.

        The previous limits return even after an error, because the pool reuses a connection that is closed.
        """
        limits = {"lock_timeout": str(int(MIGRATION_LOCK * 1000)), "statement_timeout": "0"}
        with self.cursor() as cursor:
            kept = {name: _set_config(cursor, name, value) for name, value in limits.items()}
        self.is_migrating = True
        try:
            yield
        finally:
            self.is_migrating = False
            # If the transaction has failed, its end restores them. If the connection has failed, nobody uses it again.
            with suppress(DatabaseError, InterfaceError), self.cursor() as cursor:
                for name, value in kept.items():
                    _set_config(cursor, name, value)


def _is_trusted(connection: BoundedConnection) -> bool:
    is_recent = time.monotonic() - connection.answered_at < TRUSTED
    return is_recent and connection.autocommit and connection.is_quiet()


def _set_config(cursor: Any, name: str, value: str) -> str:
    """Sets the value for this session, and returns the previous one."""
    cursor.execute("SELECT current_setting(%s)", [name])
    before: str = cursor.fetchone()[0]
    cursor.execute("SELECT set_config(%s, %s, false)", [name, value])
    return before
