"""The file of reservations and usage: SQLite, written by one thread. Each answer comes when the disk has the data.

Whoever waits at the same time shares one transaction, and so one wait for the disk.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

Work = Callable[[sqlite3.Connection], Any]
MOST_AT_ONCE = 256

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
    """The disk has not taken the data."""


class Disk:
    def __init__(self, file: Path) -> None:
        """A file that is torn is set aside: the service tells what was spent. Raises sqlite3.OperationalError."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._connection = _open(file)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            logger.error("The file of usage cannot be read and is set aside: %s", error)  # noqa: TRY400 - says all that matters
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    file.with_name(f"{file.name}{ending}").replace(file.with_name(f"{file.name}.torn{ending}"))
            self._connection = _open(file)
        self._works: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="disk", daemon=True)
        self._thread.start()

    def begin(self, work: Work) -> Future[Any]:
        """Hands the work in. It is done in the order of handing in. Its future has what it returns, or raises."""
        done: Future[Any] = Future()
        self._works.put((work, done))
        return done

    async def do(self, work: Work) -> Any:
        """What the work returns, once it is on the disk. Raises DiskError."""
        try:
            return await asyncio.wrap_future(self.begin(work))
        except Exception as error:  # noqa: BLE001 - the works' own
            raise DiskError(type(error).__name__) from None

    def close(self) -> None:
        """Ends when all that was handed in is on the disk."""
        self._works.put(None)
        self._thread.join()
        self._connection.close()

    def _write(self) -> None:
        while (first := self._works.get()) is not None:
            batch = [first]
            is_last = False
            while len(batch) < MOST_AT_ONCE and not self._works.empty():
                following = self._works.get()
                if following is None:
                    is_last = True
                    break
                batch.append(following)
            self._commit(batch)
            if is_last:
                return

    def _commit(self, batch: list[tuple[Work, Future[Any]]]) -> None:
        """Of works that cannot be done together each is done alone, so that one with a fault fails nobody else's."""
        try:
            answers = self._run([work for work, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever a work raises, the thread lives: it is the only one
            if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
                for each in batch:
                    self._commit([each])
                return
            logger.error("The disk has not taken %s changes: %s", len(batch), type(error).__name__)  # noqa: TRY400 - what it says could quote what an agent sent
            for _, done in batch:
                _finish(done, error=error)
        else:
            for (_, done), answer in zip(batch, answers, strict=True):
                _finish(done, answer)

    def _run(self, works: list[Work]) -> list[Any]:
        """All of them, or none."""
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
        connection.execute("PRAGMA synchronous = FULL")  # a commit survives the loss of power
        connection.executescript(_SCHEMA)
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("quick_check")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _finish(done: Future[Any], answer: Any = None, *, error: Exception | None = None) -> None:
    """Whoever waited may have gone."""
    if not done.set_running_or_notify_cancel():
        return
    if error is None:
        done.set_result(answer)
    else:
        done.set_exception(error)
