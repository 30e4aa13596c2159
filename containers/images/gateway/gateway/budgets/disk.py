"""The SQLite file of reservations and usage, written by one thread. A result arrives when the data is on disk.

Changes that wait at the same time share one transaction, and so one wait for the disk.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

Work = Callable[[sqlite3.Connection], Any]
MAX_BATCH = 256

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, hour INTEGER NOT NULL, model TEXT NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, money INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS advances (
    project TEXT NOT NULL, hour INTEGER NOT NULL, tokens INTEGER NOT NULL, money INTEGER NOT NULL,
    PRIMARY KEY (project, hour)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS usage (
    project TEXT NOT NULL, hour INTEGER NOT NULL, model TEXT NOT NULL, messages INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0, estimated INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0, cached INTEGER NOT NULL DEFAULT 0,
    money INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL, PRIMARY KEY (project, hour, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (
    project TEXT NOT NULL, hour INTEGER NOT NULL, tokens INTEGER NOT NULL, money INTEGER NOT NULL,
    PRIMARY KEY (project, hour)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS usage_by_seq ON usage (seq);
"""

logger = logging.getLogger(__name__)


class DiskError(Exception):
    """The data could not be written or read."""


class Disk:
    def __init__(self, file: Path) -> None:
        """Opens the file in the background. While that fails, every work fails and tries it again. Raises OSError."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = file
        self._queue: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="disk", daemon=True)
        self._thread.start()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        """Sets a corrupt file aside, because the service also knows what was spent. Raises sqlite3.Error or OSError."""
        try:
            return _open(self._file)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            logger.error("The usage file is corrupt and is set aside: %s", error)  # noqa: TRY400 - says all that matters
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    self._file.with_name(f"{self._file.name}{ending}").replace(
                        self._file.with_name(f"{self._file.name}.torn{ending}")
                    )
            return _open(self._file)

    def submit(self, work: Work) -> Future[Any]:
        """Queues the work, which runs in the order of submission. The future has its result or exception."""
        done: Future[Any] = Future()
        self._queue.put((work, done))
        return done

    async def run(self, work: Work) -> Any:
        """Returns the work's result once it is on disk. Raises DiskError."""
        try:
            return await asyncio.wrap_future(self.submit(work))
        except Exception as error:  # noqa: BLE001 - a work may raise anything
            raise DiskError(type(error).__name__) from None

    def close(self) -> None:
        """Returns when all submitted work is on disk."""
        self._queue.put(None)
        self._thread.join()
        if "_connection" in vars(self):  # the file is open
            self._connection.close()

    def _write(self) -> None:
        with suppress(sqlite3.Error, OSError):  # the first work reports it
            _ = self._connection
        while (first := self._queue.get()) is not None:
            batch = [first]
            is_last = False
            while len(batch) < MAX_BATCH and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    is_last = True
                    break
                batch.append(following)
            self._commit(batch)
            if is_last:
                return

    def _commit(self, batch: list[tuple[Work, Future[Any]]]) -> None:
        """Commits the batch. If that fails, commits each work alone, so that a faulty one does not fail the others."""
        try:
            answers = self._run_all([work for work, _ in batch])
        except Exception as error:  # noqa: BLE001 - the only thread must survive any exception of a work
            if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
                for each in batch:
                    self._commit([each])
                return
            logger.error("%s changes could not be written to disk: %s", len(batch), type(error).__name__)  # noqa: TRY400 - the message could quote an agent's data
            for _, done in batch:
                _finish(done, error=error)
        else:
            for (_, done), answer in zip(batch, answers, strict=True):
                _finish(done, answer)

    def _run_all(self, works: list[Work]) -> list[Any]:
        """Runs all works in one transaction, or none of them."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            answers = [work(self._connection) for work in works]
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise
        return answers


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power failure
        connection.executescript(_SCHEMA)
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("quick_check")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _finish(done: Future[Any], answer: Any = None, *, error: Exception | None = None) -> None:
    """Sets the result, unless the waiting caller has cancelled."""
    if not done.set_running_or_notify_cancel():
        return
    if error is None:
        done.set_result(answer)
    else:
        done.set_exception(error)
