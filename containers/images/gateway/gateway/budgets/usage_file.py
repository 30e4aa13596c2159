"""The SQLite file of reservations, usage and refusals: how it is opened, and set aside if it is damaged."""

import logging
import sqlite3
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.budgets.content_check import has_nonsense
from gateway.budgets.disk_errors import ReplacedError, is_damage, is_full, is_of_disk
from gateway.budgets.tasks import Work
from gateway.budgets.torn_file import ENDINGS, TornFile
from gateway.budgets.writing.schema import SCHEMA

LOCKED_FOR = 1.0
"""Seconds to wait for another program that has locked the file, such as a shell of an operator."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Commit:
    token: str
    """What the transaction has left in the file."""
    answers: list[Any]
    """What its works have returned."""
    store: str
    """The id that was given to a file without one; otherwise empty."""


class UnknownOutcomeError(Exception):
    """A commit failed when the log may have had it already. Then the next opening of the file finds it there."""

    def __init__(self, commit: Commit, error: sqlite3.Error) -> None:
        super().__init__()
        self.commit, self.error = commit, error


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

    def change(self, works: list[Work], fill: Callable[[sqlite3.Connection], str] | None) -> Commit:
        """Runs all works in one transaction, or none of them. `fill` fills a file that has lost its id, before that.

        Raises what a work may raise, and UnknownOutcomeError.
        """
        connection, store, token = self.connection, "", uuid.uuid4().hex
        self._refuse_replaced()
        connection.execute("BEGIN IMMEDIATE")
        try:
            if fill is not None and not read_meta(connection, "store"):
                store = fill(connection)
            commit = Commit(token, [work(connection) for work in works], store)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (token,))
        except BaseException:
            _roll_back(connection)
            raise
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            is_open = connection.in_transaction
            _roll_back(connection)
            if is_open or is_full(error):  # then the last page was not written
                raise
            raise UnknownOutcomeError(commit, error) from error
        return commit

    def has(self, commit: Commit) -> bool:
        """Whether this was the last commit. Makes it durable first, which a failed one may not be. Raises what reading
        may raise.
        """
        connection = self.connection
        self._refuse_replaced()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return read_meta(connection, "commit") == commit.token

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
