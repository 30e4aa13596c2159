"""Cursors of compiled queries (`accounts.compiled_query`): prepared where they can be, and read in binary."""

from typing import Any

import psycopg
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName


class _Prepared:
    """Prepares each statement when it first runs on a connection, so that PostgreSQL plans it once, and reads the
    answer in binary. What the server knows no longer, or has planned before a migration changed a column, is prepared
    anew; within a transaction, which such an error would end, nothing is prepared.
    """

    connection: Any

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Any:
        connection = self.connection
        # Our backend for PostgreSQL says whether nothing stands between, such as a pooler that changes the server.
        if not (connection.autocommit and getattr(connection, "is_direct", False)):
            return self._run(query, params, prepare=False)
        # Django takes the threshold away, and without one psycopg prepares nothing, not even on request.
        connection.prepare_threshold = 0
        try:
            return self._run(query, params, prepare=True)
        except (FeatureNotSupported, InvalidSqlStatementName):
            connection.execute("DEALLOCATE ALL", prepare=False)
            return self._run(query, params, prepare=True)
        finally:
            connection.prepare_threshold = None

    def _run(self, query: Any, params: Any, *, prepare: bool) -> Any:
        return super().execute(query, params, prepare=prepare, binary=True)  # type: ignore[misc]  # a cursor follows


class BinaryCursor(_Prepared, psycopg.RawCursor[Any]):
    pass


class LoggedCursor(_Prepared, psycopg.Cursor[Any]):
    """Django's log of queries knows its own places for values only."""
