"""Runs the web server and the watcher as two child processes, which end with this one."""

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType

from django.conf import settings

from config.serving.births import Births, end_all
from config.serving.children import KILL_AFTER, KILLED_WITHIN, has_terminal, run_watcher, run_web
from config.serving.handover import Predecessors, execute_again
from config.serving.pid_file import PidFile
from config.serving.systemd import READY, STOPPING, Systemd
from containers.side_work import begin_thread

logger = logging.getLogger("berth.serve")

SHORTEST_BACKOFF, LONGEST_BACKOFF = 1.0, 30.0
BOOT_WITHIN = 60.0
"""Seconds that a new watcher has until its first sign of life."""
LOOK_EVERY = 1.0
OVERDUE_LOOKS = 3
"""Looks in a row at which the watcher must be overdue. One that was stopped together with this process, as with the
whole machine, shows in between that it goes on."""
WEB, WATCHER = "web server", "watcher"


class Supervisor:
    """Starts a dead watcher again. Ends everything when the web server dies.

    SIGTERM and SIGINT end everything once what was begun is done, and at once the second time, as SIGQUIT does.
    SIGUSR2 hands over to the program as it is in the files by now, and so does SIGHUP, unless the terminal is gone.
    """

    def __init__(
        self,
        listener: socket.socket | None = None,
        predecessors: Predecessors | None = None,
        pid_file: PidFile | None = None,
        *,
        forks: bool = False,
        welcome: Callable[[], None] | None = None,
    ) -> None:
        self._listener, self._predecessors = listener, predecessors or Predecessors()
        self._pid_file, self._welcome = pid_file, welcome
        own = [each.fileno() for each in (listener, pid_file) if each is not None]
        self._births = Births(forks=forks and not self._predecessors.pids, own=own)
        self._systemd = Systemd()
        self._children: dict[str, BaseProcess] = {}
        self._stopped_by = 0
        self._ends_at_once = self._hands_over = self._is_ready = False
        self._backoff = SHORTEST_BACKOFF
        self._watching_since = 0.0
        self._restart_at: float | None = None
        context = multiprocessing.get_context("spawn")
        # The moment by which the watcher will have shown again that it lives, and whether a worker has been able to
        # serve. No locks: one that a stopped process holds would stop this one, too.
        self._due = context.RawValue("d", 0.0)
        self._booted = context.RawValue("i", 0)
        self._overdue_looks = 0

    def run(self) -> int:
        """Returns the exit code: 0 after a signal to stop, 128 and its number after one to end at once."""
        self._listen_to_signals()
        self._start(WEB, run_web, self._listener, self._booted, bool(self._predecessors.pids))
        self._start_watcher()
        self._births.settle()
        if self._welcome is not None:
            begin_thread(self._welcome)
        while self._children[WEB].is_alive() and not self._stopped_by:
            self._look_after_children()
            if self._hands_over and self._is_ready:
                self._hand_over()
        return self._end()

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGUSR2, self._on_hand_over)
        signal.signal(signal.SIGHUP, self._on_stop if has_terminal() else self._on_hand_over)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def _look_after_children(self) -> None:
        self._note_ready()
        self._restart_watcher()
        self._end_stuck_watcher()
        self._predecessors.reap()
        self._systemd.show_life()
        sentinels = [child.sentinel for child in self._children.values() if child.is_alive()]
        wait(sentinels, timeout=self._seconds_to_restart())

    def _note_ready(self) -> None:
        """The first time that a worker serves, lets those end that have served until now."""
        if self._is_ready or not self._booted.value:
            return
        self._is_ready = True
        if self._pid_file is not None:
            self._pid_file.note_ready()
        self._systemd.say(READY, f"STATUS=Berth {settings.BERTH_VERSION} serves {settings.BERTH_PUBLIC_URL}")
        self._predecessors.release(KILL_AFTER + 2)
        logger.info("Berth %s serves.", settings.BERTH_VERSION)

    def _start(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        given = self._listener.fileno() if self._listener is not None and name == WEB else None
        self._children[name] = child = self._births.start(name, target, *arguments, given=given)
        logger.info("Started the %s, process %s.", name, child.pid)

    def _start_watcher(self) -> None:
        self._due.value, self._overdue_looks = time.monotonic() + BOOT_WITHIN, 0
        self._start(WATCHER, run_watcher, self._due)

    def _on_stop(self, number: int, _frame: FrameType | None) -> None:
        """Asks the children to end, which ends the wait in `run`. A second signal kills them."""
        self._ends_at_once = bool(self._stopped_by) or number == signal.SIGQUIT
        if self._ends_at_once:
            self._predecessors.kill()
        for child in self._children.values():
            child.kill() if self._ends_at_once else child.terminate()
        self._stopped_by = number

    def _on_hand_over(self, _number: int, _frame: FrameType | None) -> None:
        self._hands_over = True

    def _hand_over(self) -> None:
        self._hands_over = False
        if self._listener is None or self._predecessors.pids:
            logger.warning("The service is being handed over already.")
            return
        logger.info("Handing over to the program in %s.", settings.BASE_DIR)
        self._systemd.reloading()
        pids = {child.pid for child in self._children.values() if child.pid and child.is_alive()}
        try:
            execute_again(self._listener, self._births.lifeline, pids, self._systemd.environment())
        except OSError as error:
            logger.error("It cannot be started, so this one goes on: %s", error)  # noqa: TRY400 - says it all
            self._listen_to_signals()
            self._systemd.say(READY)

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
            try:
                self._start_watcher()
            except OSError as error:  # the system has no room for a process
                logger.error("The watcher cannot be started, and is tried again: %s", error)  # noqa: TRY400 - says all
                self._restart_at = now + self._backoff
                return
            self._restart_at, self._watching_since = None, now

    def _end_stuck_watcher(self) -> None:
        """Kills a watcher that lives and does not say so any more. Another one is started then."""
        watcher = self._children[WATCHER]
        is_overdue = watcher.is_alive() and time.monotonic() > self._due.value
        self._overdue_looks = self._overdue_looks + 1 if is_overdue else 0
        if self._overdue_looks >= OVERDUE_LOOKS:
            logger.error("The watcher, process %s, lives but does nothing any more. It is killed.", watcher.pid)
            watcher.kill()  # SIGTERM does not reach what is stopped
            watcher.join(KILLED_WITHIN)  # the next look finds one that the kernel still holds
            self._overdue_looks = 0

    def _seconds_to_restart(self) -> float:
        """Until a restart is due, and no longer than until the next look at the watcher."""
        if self._restart_at is None:
            return LOOK_EVERY
        return min(LOOK_EVERY, max(0.05, self._restart_at - time.monotonic()))

    def _end(self) -> int:
        self._systemd.say(STOPPING)
        if self._listener is not None:
            self._listener.close()  # new connections are refused from now on
        self._predecessors.release(KILL_AFTER + 2)
        end_all(self._children.values())
        self._predecessors.end(KILL_AFTER + 2)
        if self._ends_at_once:
            return 128 + self._stopped_by
        if self._stopped_by:
            return 0
        code = self._children[WEB].exitcode or 1
        logger.error("The web server ended by itself with exit code %s; so does everything.", code)
        return code if code >= 0 else 128 - code
