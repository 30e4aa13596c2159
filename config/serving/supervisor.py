"""Runs the web server and the watcher as two child processes, which end with this one.

The children import this module before Django is set up, so nothing that needs it is imported at the top.
"""

import logging
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_double
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

logger = logging.getLogger("berth.serve")

# Seconds that a child told to stop has before it is killed: what requests in flight get, and some more.
KILL_AFTER = settings.BERTH_GRACE + 4
FILES = 8192
"""Open files of a process of the web server: its connections, and as many again to be safe."""
SHORTEST_BACKOFF, LONGEST_BACKOFF = 1.0, 30.0
BOOT_WITHIN = 60.0
"""Seconds that a new watcher has until its first sign of life."""
LOOK_EVERY = 1.0
OVERDUE_LOOKS = 3
"""Looks in a row at which the watcher must be overdue. One that was stopped together with this process, as with the
whole machine, shows in between that it goes on."""
WEB, WATCHER = "web server", "watcher"


class Supervisor:
    """Starts a dead watcher again. Ends everything when the web server dies."""

    def __init__(self) -> None:
        self._children: dict[str, SpawnProcess] = {}
        self._stopping = False
        self._backoff = SHORTEST_BACKOFF
        self._watching_since = 0.0
        self._restart_at: float | None = None
        # The moment by which the watcher will have shown again that it lives. No lock: one that a stopped process
        # holds would stop this one, too.
        self._due = multiprocessing.get_context("spawn").RawValue("d", 0.0)
        self._overdue_looks = 0

    def run(self) -> int:
        """Returns the exit code of the web server, or 0 after SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._start(WEB, run_web)
        self._start_watcher()
        while self._children[WEB].is_alive() and not self._stopping:
            self._restart_watcher()
            self._end_stuck_watcher()
            wait(
                [child.sentinel for child in self._children.values() if child.is_alive()],
                timeout=self._seconds_to_restart(),
            )
        self._end_children()
        code = self._children[WEB].exitcode or 0
        if self._stopping:
            return 0
        logger.error("The web server ended by itself with exit code %s; so does everything.", code)
        return code if code >= 0 else 128 - code

    def _start(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        child = multiprocessing.get_context("spawn").Process(target=run_child, args=(target, *arguments), name=name)
        child.start()
        self._children[name] = child
        logger.info("Started the %s, process %s.", name, child.pid)

    def _start_watcher(self) -> None:
        self._due.value, self._overdue_looks = time.monotonic() + BOOT_WITHIN, 0
        self._start(WATCHER, run_watcher, self._due)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Asks the children to end, which ends the wait in `run`. A second signal kills them."""
        for child in self._children.values():
            child.kill() if self._stopping else child.terminate()
        self._stopping = True

    def _restart_watcher(self) -> None:
        """Starts a dead watcher again after a pause that doubles with every death that follows soon."""
        watcher = self._children[WATCHER]
        if watcher.is_alive():
            return
        now = time.monotonic()
        if self._restart_at is None:
            if now - self._watching_since > 2 * LONGEST_BACKOFF:
                self._backoff = SHORTEST_BACKOFF
            logger.error("The watcher died with exit code %s; again in %.0f s.", watcher.exitcode, self._backoff)
            self._restart_at = now + self._backoff
            self._backoff = min(self._backoff * 2, LONGEST_BACKOFF)
        elif now >= self._restart_at:
            self._restart_at, self._watching_since = None, now
            self._start_watcher()

    def _end_stuck_watcher(self) -> None:
        """Kills a watcher that lives and does not say so any more, whatever keeps it. Another one is started then."""
        watcher = self._children[WATCHER]
        is_overdue = watcher.is_alive() and time.monotonic() > self._due.value
        self._overdue_looks = self._overdue_looks + 1 if is_overdue else 0
        if self._overdue_looks >= OVERDUE_LOOKS:
            logger.error("The watcher, process %s, lives but does nothing any more. It is killed.", watcher.pid)
            watcher.kill()  # SIGTERM does not reach what is stopped
            watcher.join()
            self._overdue_looks = 0

    def _seconds_to_restart(self) -> float:
        """Until a restart is due, and no longer than until the next look at the watcher."""
        if self._restart_at is None:
            return LOOK_EVERY
        return min(LOOK_EVERY, max(0.05, self._restart_at - time.monotonic()))

    def _end_children(self) -> None:
        """Ends all children: with SIGTERM, and with SIGKILL those that still live after `KILL_AFTER` seconds."""
        deadline = time.monotonic() + KILL_AFTER
        for child in self._children.values():
            if child.is_alive():
                child.terminate()
        for child in self._children.values():
            child.join(max(0.0, deadline - time.monotonic()))
            if child.is_alive():
                child.kill()
                child.join()


def run_child(target: Callable[..., None], *arguments: object) -> None:
    """Runs `target` in a new child process.

    The child leaves the terminal's process group, so that Ctrl-C reaches the parent only, and it ends when the parent
    ends, even by SIGKILL.
    """
    os.setpgrp()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    django.setup()
    try:
        target(*arguments)
    except CommandError as error:
        logger.error("%s", error)  # noqa: TRY400 - a sentence for people, which needs no traceback
        sys.exit(1)
    except Exception:
        logger.exception("The %s broke.", multiprocessing.current_process().name)
        sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(KILL_AFTER)
    os._exit(1)


def allow_many_files() -> None:
    """Every connection is an open file. Many systems allow 1,024 of them, and more to those who ask."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_watcher(due: c_double) -> None:
    """`due` is shared with the parent: by then the watcher will have shown that it lives.

    The files of a newer version may be here before its migrations are. A newer database is one that is being upgraded.
    """
    from config.database.versions import refuse_older_database  # noqa: PLC0415 - Django is to be set up

    with suppress(DatabaseError):  # one that does not answer is waited for
        refuse_older_database()
    call_command("watch", publish=partial(setattr, due, "value"))


def run_web() -> None:
    # Imported here: the parent and the watcher need none of it.
    from config.serving.gunicorn import WebServer  # noqa: PLC0415

    allow_many_files()
    WebServer().run()
