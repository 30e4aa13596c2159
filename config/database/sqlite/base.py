"""Django's backend for SQLite, where a thread waits for others to finish writing, and for nothing else."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db.backends.sqlite3 import base

from config.database.limits import seconds_left
from config.database.noting import NotesFaults


class DatabaseWrapper(NotesFaults, base.DatabaseWrapper):
    _longest = 0.0
    """Seconds for which the connection waits, from the settings."""

    _current = 0.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._longest = self._current = float(conn_params["timeout"])
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        self._limit_wait()
        return super().create_cursor(name)

    def _limit_wait(self) -> None:
        left = seconds_left()
        wanted = self._longest if left is None else min(self._longest, left)
        if wanted != self._current:
            self.connection.execute(f"PRAGMA busy_timeout = {int(wanted * 1000)}")
            self._current = wanted

    def migration_limits(self) -> AbstractContextManager[None]:
        """There is no server."""
        return nullcontext()
