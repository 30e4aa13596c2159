"""The web server and the watcher, as two processes that live and end with this one."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.serving.welcome import announce

logger = logging.getLogger("berth.serve")

# Seconds that a child told to stop has before it is killed: what requests in flight get, and some more.
KILL_AFTER = settings.BERTH_GRACE + 4
SHORTEST_BACKOFF, LONGEST_BACKOFF = 1.0, 30.0


class Command(BaseCommand):
    help = "Serve Berth: the web server and the watcher. Agents go on when it stops."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--announce", action="store_true", help="Say how to sign in, once everything is ready.")

    def handle(self, *args: Any, **options: Any) -> None:
        require_free_port(settings.BERTH_HOST, settings.BERTH_PORT)
        # Imported here: the children import this module before Django is set up.
        from projects.services.key_rotation import check_keys  # noqa: PLC0415

        check_keys()
        if options["announce"]:
            threading.Thread(target=announce, args=(self.stdout.write,), daemon=True).start()
        sys.exit(Household().run())


class Household:
    """Keeps a web server and a watcher: a dead watcher is started again, a dead web server ends it all."""

    def __init__(self) -> None:
        self._children: dict[str, SpawnProcess] = {}
        self._stopping = False
        self._backoff = SHORTEST_BACKOFF
        self._watching_since = 0.0
        self._restart_at: float | None = None

    def run(self) -> int:
        """The exit code of the web server, or 0 when it was told to stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._start("web", run_web)
        self._start("watcher", run_watcher)
        while self._children["web"].is_alive() and not self._stopping:
            self._care_for_watcher()
            wait([child.sentinel for child in self._children.values() if child.is_alive()], timeout=self._patience())
        self._end_children()
        code = self._children["web"].exitcode or 0
        if self._stopping:
            return 0
        logger.error("The web server ended by itself with exit code %s; so does everything.", code)
        return code if code >= 0 else 128 - code

    def _start(self, name: str, target: Callable[[], None]) -> None:
        child = multiprocessing.get_context("spawn").Process(target=live_in, args=(target,), name=name)
        child.start()
        self._children[name] = child

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Ask the children to end, which wakes up whoever waits for them; asked again, end them at once."""
        for child in self._children.values():
            child.kill() if self._stopping else child.terminate()
        self._stopping = True

    def _care_for_watcher(self) -> None:
        watcher = self._children["watcher"]
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
            self._start("watcher", run_watcher)

    def _patience(self) -> float | None:
        return None if self._restart_at is None else max(0.05, self._restart_at - time.monotonic())

    def _end_children(self) -> None:
        """Afterwards no child is left: SIGTERM, and SIGKILL for one that does not heed it."""
        deadline = time.monotonic() + KILL_AFTER
        for child in self._children.values():
            if child.is_alive():
                child.terminate()
        for child in self._children.values():
            child.join(max(0.0, deadline - time.monotonic()))
            if child.is_alive():
                child.kill()
                child.join()


def live_in(target: Callable[[], None]) -> None:
    """What every child does first: leave the terminal's group, so that Ctrl-C reaches the parent only, and never
    outlive the parent, however that ends."""
    os.setpgrp()
    threading.Thread(target=_follow_parent, daemon=True).start()
    django.setup()
    try:
        target()
    except CommandError as error:
        logger.error("%s", error)  # noqa: TRY400 - a sentence for people, which needs no traceback
        sys.exit(1)
    except Exception:
        logger.exception("The %s broke.", multiprocessing.current_process().name)
        sys.exit(1)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(KILL_AFTER)
    os._exit(1)


def run_watcher() -> None:
    call_command("watch")


def run_web() -> None:
    # Imported here: the parent and the watcher need none of it.
    from config.serving.gunicorn import WebServer  # noqa: PLC0415

    WebServer().run()


def require_free_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandError(
                f"Berth cannot listen on {host}:{port} ({reason}). Set BERTH_HOST or BERTH_PORT to a free address."
            ) from None
