"""The SQLite file of reservations, usage and refusals: how it is opened, and set aside if it is damaged."""

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.budgets.content_check import has_nonsense
from gateway.budgets.disk_errors import ReplacedError, is_damage, is_of_disk
from gateway.budgets.tasks import Work
from gateway.budgets.torn_file import ENDINGS, TornFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS openings (before INTEGER NOT NULL, first INTEGER NOT NULL);
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
CREATE TABLE IF NOT EXISTS refusals (
    project TEXT NOT NULL, fact TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (project, fact)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS usage_by_seq ON usage (seq);
"""

LOCKED_FOR = 1.0
"""Seconds to wait for another program that has locked the file, such as a shell of an operator."""

logger = logging.getLogger(__name__)


class UsageFile:
    """Used and closed by one thread only, which SQLite's module enforces."""

    def __init__(self, file: Path) -> None:
        """Creates the folder if necessary. Raises OSError."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file, self.folder, self.torn = file, file.parent, TornFile(file)
        self.was_damaged = False
        """Whether this process has set a damaged file aside."""
        self._connection: sqlite3.Connection | None = None
        self._opened: list[tuple[int, int]] = []
        """What the names of the open files stand for."""
        self._is_checked = False

    @property
    def connection(self) -> sqlite3.Connection:
        """Opens the file if necessary. When the process begins, sets a damaged one aside, because the service also
        knows what was spent. Raises sqlite3.Error or OSError.
        """
        if self._connection is None:
            try:
                self._connection = open_checked(self.file, is_checked=self._is_checked)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if self._is_checked or (is_of_disk(error) and not is_damage(error)):
                    raise
                self.set_aside(error)
                self._connection = open_checked(self.file, is_checked=True)
            self._is_checked = True
            try:
                self._opened = self._identify()
            except OSError:
                self.close()
                raise
        return self._connection

    def _identify(self) -> list[tuple[int, int]]:
        """Raises OSError."""
        found = [self.file.with_name(f"{self.file.name}{ending}").stat() for ending in ENDINGS]
        return [(each.st_dev, each.st_ino) for each in found]

    def _refuse_replaced(self) -> None:
        """SQLite itself goes on to write files that have no name any more, and the next process would not find them.

        Raises ReplacedError.
        """
        try:
            is_same = self._identify() == self._opened
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise ReplacedError

    def change(self, works: list[Work], fill: Callable[[sqlite3.Connection], str] | None) -> tuple[list[Any], str]:
        """Runs all works in one transaction, or none of them. `fill` fills a file that has lost its id, before that.

        Returns their results, and the id that `fill` has given to the file. Raises what a work may raise.
        """
        connection, store = self.connection, ""
        self._refuse_replaced()
        connection.execute("BEGIN IMMEDIATE")
        try:
            if fill is not None and not read_meta(connection, "store"):
                store = fill(connection)
            answers = [work(connection) for work in works]
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        if store:
            self.torn.forget()
        return answers, store

    def read(self, work: Work) -> Any:
        """Runs the work in a transaction that changes nothing."""
        connection = self.connection
        self._refuse_replaced()
        connection.execute("BEGIN")
        try:
            return work(connection)
        finally:
            _roll_back(connection)

    def close(self) -> None:
        """Makes the next use open the file again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def set_aside(self, error: Exception) -> None:
        """Raises OSError."""
        what = "was removed or replaced" if isinstance(error, ReplacedError) else "is corrupt and is set aside"
        logger.error("The usage file %s: %s", what, type(error).__name__)
        self.close()
        self.was_damaged = True
        self.torn.put()


def read_meta(connection: sqlite3.Connection, name: str) -> str:
    """Returns an empty text if there is none."""
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(found[0]) if found else ""


def probe(connection: sqlite3.Connection) -> None:
    """Changes something, to find out whether the disk takes data."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('probe', ?)", (str(time.monotonic()),))


def open_checked(file: Path, *, is_checked: bool) -> sqlite3.Connection:
    """`is_checked` says that this process has read the whole file before. Raises sqlite3.Error, and UnicodeDecodeError
    if names in it are damaged.
    """
    connection = sqlite3.connect(file, timeout=LOCKED_FOR, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power failure
        connection.executescript(SCHEMA)
        if not is_checked:
            _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    """Reads the whole file. Raises sqlite3.Error."""
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",) or has_nonsense(connection):
        raise sqlite3.DatabaseError("quick_check")


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
