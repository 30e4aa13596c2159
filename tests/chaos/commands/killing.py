"""A child of this process that breaks when it begins its n-th change."""

import errno
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from typing import Any

import psycopg.errors
from django.core.management.base import CommandError
from django.db import DatabaseError, OperationalError, connections

from config.database.sqlite.replacement import forget_file

CHANGES = {"os.rename", "os.remove", "os.link", "os.truncate", "os.mkdir", "sqlite3.connect"}
"""The changes that Python reports to an audit hook beforehand."""

NEEDS_ROOM = {"os.mkdir"}
"""Those that a full disk refuses, in addition to files that are opened for writing."""

READS = ("SELECT", "PRAGMA", "SET", "BEGIN", "SAVEPOINT", "RELEASE")

KILLED, FULL, AWAY = "killed", "disk full", "database away"
FAULTS = (KILLED, FULL, AWAY)
"""A kill like `kill -9`; from then on no room on any disk; from then on no answer of the database."""

TOLD = 7
"""The exit code of a child whose work has ended with an error that a command reports in a sentence."""


def run_until_killed(work: Callable[[], object], *, at: int) -> bool:
    """Returns whether it was killed. It ended by itself if it makes fewer changes than that."""
    return run_until_broken(work, at=at, fault=KILLED)


def run_until_broken(work: Callable[[], object], *, at: int, fault: str) -> bool:
    """Returns whether it came to that. It ended by itself if it makes fewer changes than that.

    Files that are opened for writing, statements that change the database, and its commits, before and after, also
    count; with `AWAY`, all statements and no files.
    """
    connection: Any = connections["default"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # the child would lack its threads
    child = os.fork()
    if child == 0:
        _work_and_break(work, at, fault, connection)
    _, status = os.waitpid(child, 0)
    forget_file(str(connection.settings_dict["NAME"]))  # a child that restores puts another in its place
    if fault == KILLED:
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
        return os.WIFSIGNALED(status)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, TOLD}, f"{fault} at {at}: exit code {code}"
    return code == TOLD


class _Breaking:
    """Counts, and breaks from the last change on."""

    def __init__(self, left: int, fault: str, vendor: str) -> None:
        self._left, self._fault, self._vendor = left, fault, vendor

    def count(self, *, is_file: bool) -> None:
        self._left -= 1
        if self._left > 0:
            return
        if self._fault == KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        if is_file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise self._error()

    def _error(self) -> OperationalError:
        if self._fault == AWAY:
            return OperationalError("server closed the connection unexpectedly")
        error = OperationalError("no room")
        if self._vendor == "postgresql":
            error.__cause__ = psycopg.errors.DiskFull()
        else:
            error.__cause__ = sqlite3.OperationalError("database or disk is full")
            error.__cause__.sqlite_errorname = "SQLITE_FULL"
        return error

    def audit(self, event: str, arguments: Any) -> None:
        is_written = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if self._fault == AWAY:
            return
        if is_written or event in (CHANGES if self._fault == KILLED else NEEDS_ROOM):
            self.count(is_file=True)

    def execute(self, execute: Any, sql: str, *rest: Any) -> Any:
        if self._fault == AWAY or not sql.lstrip().startswith(READS):
            self.count(is_file=False)
        return execute(sql, *rest)


def _work_and_break(work: Callable[[], object], at: int, fault: str, connection: Any) -> None:
    breaking, commit = _Breaking(at, fault, connection.vendor), connection._commit

    def commit_and_count() -> None:
        breaking.count(is_file=False)
        commit()
        if fault == KILLED:
            breaking.count(is_file=False)

    connection._commit = commit_and_count
    connection.execute_wrappers.append(breaking.execute)
    sys.addaudithook(breaking.audit)
    code = 1
    try:
        work()
        code = 0
    except (CommandError, DatabaseError):
        code = TOLD
    except BaseException:  # noqa: BLE001 - the output of a child that should not end like this
        traceback.print_exc()
    finally:
        os._exit(code)
