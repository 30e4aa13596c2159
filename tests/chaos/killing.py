"""A child of this process that is killed, as by `kill -9`, when it has begun to change something for the n-th time."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from django.db import connections

CHANGES = {"os.rename", "os.remove", "os.link", "os.truncate", "os.mkdir", "sqlite3.connect"}
"""What Python tells an audit hook of before it does it."""


def run_until_killed(work: Callable[[], object], *, at: int) -> bool:
    """Returns whether it was killed; it ended by itself where it makes fewer changes than that.

    Also counted are files that are opened to be written, statements that change the database, and its commits, before
    and after.
    """
    connection: Any = connections["default"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # its threads would not be in the child
    child = os.fork()
    if child == 0:
        _work_and_die(work, at)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def _work_and_die(work: Callable[[], object], at: int) -> None:
    connection: Any = connections["default"]
    left = at

    def count() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: Any) -> None:
        if event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            count()

    def execute_and_count(execute: Any, sql: str, *rest: Any) -> Any:
        if not sql.lstrip().startswith(("SELECT", "PRAGMA", "SET", "BEGIN", "SAVEPOINT", "RELEASE")):
            count()
        return execute(sql, *rest)

    commit = connection._commit

    def commit_and_count() -> None:
        count()
        commit()
        count()

    connection._commit = commit_and_count
    connection.execute_wrappers.append(execute_and_count)
    sys.addaudithook(audit)
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)
