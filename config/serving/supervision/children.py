"""The two child processes of the service. They end with the process that started them.

They import this module before Django is set up, so nothing that needs it is imported at the top.
"""

import gc
import logging
import multiprocessing
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_double, c_int
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

from config.serving.freed_memory import return_large_blocks

logger = logging.getLogger("berth.serve")

WEB, WATCHER = "web server", "watcher"
"""The names of the two processes."""

# Seconds that a child told to stop has before it is killed: what requests in flight get, and some more.
KILL_AFTER = settings.BERTH_GRACE + 4
KILLED_WITHIN = 5.0
"""Seconds for the kernel to end a killed process."""
ORPHAN_CHECK_EVERY = 0.2
"""Seconds between two checks whether the parent still lives, after the lifeline was cut."""
ORPHANED_WATCHER_ENDS_WITHIN = 3.0
"""Seconds in which a watcher whose parent was killed must end, because its successor cannot lead before that."""
FILES = 8192
"""Open files of a process of the web server: its connections, and as many again as a margin."""


def start_child(name: str, lifeline: Connection, target: Callable[..., None], *arguments: object) -> BaseProcess:
    """Raises `OSError` if the system has no room for another process."""
    child = multiprocessing.get_context("spawn").Process(
        target=run_child, args=(lifeline, target, *arguments), name=name
    )
    child.start()
    return child


def run_child(lifeline: Connection, target: Callable[..., None], *arguments: object) -> None:
    """Runs `target` in a new child process.

    The child leaves the terminal's process group, so that Ctrl-C reaches only the parent. It ends when the other end of
    the lifeline is closed, for example by the parent's end, even by SIGKILL.
    """
    os.setpgrp()
    return_large_blocks()
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)  # they are meant for the parent only
    is_watcher = multiprocessing.current_process().name == WATCHER
    orphaned_for = ORPHANED_WATCHER_ENDS_WITHIN if is_watcher else KILL_AFTER
    threading.Thread(target=_end_with_parent, args=(lifeline, orphaned_for), daemon=True).start()
    gc.disable()  # as in manage.py
    django.setup()
    gc.freeze()
    gc.enable()
    try:
        target(*arguments)
    except (CommandError, ImproperlyConfigured) as error:
        logger.error("%s", error)  # noqa: TRY400 - a sentence for people, which needs no traceback
        sys.exit(1)
    except Exception:
        logger.exception("The %s broke.", multiprocessing.current_process().name)
        sys.exit(1)


def _end_with_parent(lifeline: Connection, orphaned_for: float) -> None:
    """Ends this process after the other end of the lifeline was closed.

    It has `KILL_AFTER` seconds, and at most `orphaned_for` seconds if the parent is gone. A parent that has handed over
    to a new program lives on and waits for this process.
    """
    select.select([lifeline], [], [])  # nothing is ever sent
    os.kill(os.getpid(), signal.SIGTERM)
    parent = multiprocessing.parent_process()
    now = time.monotonic()
    until, orphan_until = now + KILL_AFTER, now + orphaned_for
    while time.monotonic() < until:
        if parent is None or parent.pid != os.getppid():
            until = min(until, orphan_until)
        time.sleep(ORPHAN_CHECK_EVERY)
    os._exit(1)


def allow_many_files() -> None:
    """Raises the limit of open files, because every connection is one. Many systems allow 1,024, more on request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_watcher(due: c_double) -> None:
    """`due` is shared with the parent: the watcher will have shown by then that it lives.

    The files of a newer version may be here before its migrations have run. A newer database is one that is being
    upgraded.
    """
    from config.database.versions import refuse_older_database  # noqa: PLC0415 - Django is to be set up
    from config.metrics.shared import begin_to_count  # noqa: PLC0415 - the same
    from config.serving.watcher_port import open_watcher_port  # noqa: PLC0415 - the same
    from containers.processes.tracing import begin_to_trace  # noqa: PLC0415 - the same

    begin_to_count("watcher")
    begin_to_trace("watcher", version=settings.BERTH_VERSION)
    open_watcher_port(due)
    with suppress(DatabaseError):  # a database that does not answer is waited for
        refuse_older_database()
    call_command("watch", publish=partial(setattr, due, "value"))


def run_web(
    listener: socket.socket,
    booted: c_int,
    draining: c_int,
    succeeds: bool,  # noqa: FBT001 - a process takes no names
) -> None:
    """Shares two numbers with the parent: `booted` is 1 once a worker can serve, `draining` once this server must stop.

    `succeeds`: another web server has served so far.
    """
    from config.draining import DRAIN  # noqa: PLC0415 - the watcher needs none of it
    from config.serving.gunicorn import WebServer  # noqa: PLC0415 - the parent and the watcher need none of it

    allow_many_files()
    DRAIN.follow(draining)
    WebServer(listener, booted, succeeds=succeeds).run()


def has_terminal() -> bool:
    """Returns whether this was started at a terminal, whose end is a SIGHUP."""
    with suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
        return True
    return False
