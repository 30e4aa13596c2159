"""Cursors of compiled queries (`accounts.database.compiled_query`), prepared if possible, with binary results."""

from typing import Any

import psycopg
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName


class _Prepared:
    """Prepares each statement when it first runs on a connection, so that PostgreSQL plans it once, and reads the
    result in binary format. If the server no longer knows the statement, or planned it before a migration changed a
    column, it is prepared again. Within a transaction, which such an error would end, nothing is prepared.
    """

    connection: Any

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Any:
        connection = self.connection
        # `is_direct` is False if a pooler between could change the server process.
        if not (connection.autocommit and getattr(connection, "is_direct", False)):
            return self._run(query, params, prepare=False)
        # Django sets the threshold to None, with which psycopg prepares nothing, not even on request.
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
    """For Django's log of queries, which supports only psycopg's own placeholders."""
