"""Django's backend for SQLite, in which a thread only ever waits for other writers to finish."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base, features
from django.db.utils import OperationalError
from django.utils.functional import cached_property

from config.database.fault_noting import NotesFaults
from config.database.limits import seconds_left
from config.database.sqlite.replacement import is_replaced, note_opened, require_same_file
from config.environment.ownership import give_to_owner

STEPS = 10_000
"""Instructions of SQLite's virtual machine between two looks at the clock: some tenths of a millisecond."""


def _is_late() -> bool:
    return seconds_left() == 0


def _sync(path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _give_new_files(path: Path) -> None:
    """Gives a database that root has just made to the owner of its folder, who could not use it otherwise."""
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):  # it is not there, or the database is in memory
            give_to_owner(Path(f"{path}{ending}"), path.parent)


class DatabaseFeatures(features.DatabaseFeatures):
    @cached_property
    def supports_json_field(self) -> bool:  # type: ignore[override]  # so is Django's own
        """Django asks the current database, and concludes that it lacks JSON if another process is writing to it."""
        with closing(sqlite3.connect(":memory:")) as database:
            try:
                database.execute("SELECT json('{}')")
            except sqlite3.OperationalError:
                return False
        return True


class DatabaseWrapper(NotesFaults, base.DatabaseWrapper):
    features_class = DatabaseFeatures

    _longest = 0.0
    """Seconds for which the connection waits, from the settings."""

    _current = 0.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._longest = self._current = float(conn_params["timeout"])
        name = str(conn_params["database"])
        require_same_file(name)
        is_new = not os.path.exists(name)  # noqa: PTH110 - it need not be a path
        opened = super().get_new_connection(conn_params)
        if is_new:
            _give_new_files(Path(name))
        note_opened(name)
        return opened

    def is_replaced(self) -> bool:
        """Returns whether someone has put another file in the place of the database, or removed it.

        Each statement of this process fails from then on.
        """
        return is_replaced(str(self.settings_dict["NAME"]))

    def create_cursor(self, name: str | None = None) -> Any:
        require_same_file(str(self.settings_dict["NAME"]))
        self._limit_wait()
        return super().create_cursor(name)

    def _limit_wait(self) -> None:
        left = seconds_left()
        wanted = self._longest if left is None else min(self._longest, left)
        if wanted != self._current:
            self.connection.execute(f"PRAGMA busy_timeout = {int(wanted * 1000)}")
            self._current = wanted

    @contextmanager
    def ending_reads(self) -> Iterator[None]:
        """Ends a statement that still runs when `seconds_left` is zero, because no server does so here.

        For reads only: SQLite would roll back more than the statement in a transaction that writes.
        """
        self.ensure_connection()
        opened = self.connection
        opened.set_progress_handler(_is_late, STEPS)
        try:
            yield
        finally:
            opened.set_progress_handler(None, 0)

    def keep_commits(self) -> None:
        """Returns once every commit survives a power cut, which takes some milliseconds.

        With `synchronous=NORMAL` SQLite leaves that to the next checkpoint, because each commit would take as long. Its
        log (WAL) contains every commit, and a fsync of that file is what SQLite itself would do.
        """
        log = Path(f"{self.settings_dict['NAME']}-wal")
        try:
            for path, flags in ((log, os.O_RDONLY), (log.parent, os.O_RDONLY | os.O_DIRECTORY)):
                _sync(path, flags)
        except FileNotFoundError:
            return  # nothing was written since the last checkpoint, or the database is in memory
        except OSError as error:
            raise OperationalError("disk I/O error") from error

    def migration_limits(self) -> AbstractContextManager[None]:
        """Does nothing, because there is no server."""
        return nullcontext()
