"""Runs the web server and the watcher, or one of the two, as child processes, which end with this one."""

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from ctypes import c_double
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType

from django.conf import settings

from config.serving.pid_file import PidFile
from config.serving.roles import Role
from config.serving.supervision.child_starts import ChildStarter, end_all
from config.serving.supervision.children import KILL_AFTER, WATCHER, WEB, has_terminal, run_watcher, run_web
from config.serving.supervision.handover import Predecessors, command_of_new_program, execute_again
from config.serving.supervision.systemd import READY, STOPPING, Systemd
from config.serving.supervision.trial import Trial
from config.serving.supervision.watcher_process import LOOK_EVERY, KeptWatcher
from containers.processes.side_work import begin_thread

logger = logging.getLogger("berth.serve")


class Supervisor:
    """Restarts a dead watcher. Ends everything when the web server dies.

    SIGTERM and SIGINT end everything once work in progress is done, and at once the second time, as SIGQUIT does.
    SIGUSR2 hands over to the program in its current files, and so does SIGHUP, unless the terminal is gone.
    """

    def __init__(
        self,
        listener: socket.socket | None = None,
        predecessors: Predecessors | None = None,
        pid_file: PidFile | None = None,
        *,
        role: Role = Role.ALL,
        forks: bool = False,
        welcome: Callable[[], None] | None = None,
    ) -> None:
        self._listener, self._predecessors = listener, predecessors or Predecessors()
        self._pid_file, self._welcome, self._role = pid_file, welcome, role
        own = [each.fileno() for each in (listener, pid_file) if each is not None]
        self._child_starter = ChildStarter(forks=forks and not self._predecessors.pids, own=own)
        self._systemd = Systemd()
        self._children: dict[str, BaseProcess] = {}
        self._watcher = KeptWatcher(self._start_watcher)
        self._trial = Trial()
        self._stopped_by = 0
        self._ends_at_once = self._hands_over = self._is_ready = False
        context = multiprocessing.get_context("spawn")
        # Whether a worker has been able to serve, and whether all must ask their proxy to send no new requests. No
        # locks, because a lock held by a stopped process would stop this one, too.
        self._booted, self._draining = context.RawValue("i", 0), context.RawValue("i", 0)

    def run(self) -> int:
        """Returns the exit code: 0 after a signal to stop, 128 and its number after one to end at once."""
        self._listen_to_signals()
        if self._role.serves:
            succeeds = bool(self._predecessors.pids)
            self._start(WEB, run_web, self._listener, self._booted, self._draining, succeeds)
        if self._role.watches:
            self._watcher.start()
        self._child_starter.settle()
        if self._welcome is not None:
            begin_thread(self._welcome)
        while self._web_lives() and not self._stopped_by:
            self._look_after_children()
            if self._hands_over and self._is_ready:
                self._try_new_program()
            if (obstacle := self._trial.find_obstacle()) is not None:
                self._stay(obstacle) if obstacle else self._hand_over()
        if self._role.serves and not self._ends_at_once:
            self._drain()
        return self._end()

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGUSR2, self._on_hand_over)
        signal.signal(signal.SIGHUP, self._on_stop if has_terminal() else self._on_hand_over)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def _web_lives(self) -> bool:
        """Does nothing if this role runs none."""
        return not self._role.serves or self._children[WEB].is_alive()

    def _look_after_children(self) -> None:
        self._note_ready()
        self._watcher.look_after()
        self._predecessors.reap()
        self._systemd.show_life()
        sentinels = [child.sentinel for child in self._children.values() if child.is_alive()]
        wait(sentinels, timeout=min(self._watcher.seconds_to_look, self._trial.seconds_to_look))

    def _note_ready(self) -> None:
        """When a worker serves for the first time, lets the previous processes end."""
        if self._is_ready or not (self._booted.value if self._role.serves else self._watcher.has_shown_itself):
            return
        self._is_ready = True
        if self._pid_file is not None:
            self._pid_file.note_ready()
        does = f"serves {settings.BERTH_PUBLIC_URL}" if self._role.serves else "watches"
        self._systemd.notify(READY, f"STATUS=Berth {settings.BERTH_VERSION} {does}")
        self._predecessors.release(KILL_AFTER + 2)
        logger.info("Berth %s %s.", settings.BERTH_VERSION, "serves" if self._role.serves else "watches")

    def _start(self, name: str, target: Callable[..., None], *arguments: object) -> BaseProcess:
        given = self._listener.fileno() if self._listener is not None and name == WEB else None
        self._children[name] = child = self._child_starter.start(name, target, *arguments, given=given)
        logger.info("Started the %s, process %s.", name, child.pid)
        return child

    def _start_watcher(self, due: c_double) -> BaseProcess:
        return self._start(WATCHER, run_watcher, due)

    def _on_stop(self, number: int, _frame: FrameType | None) -> None:
        """Asks the children to end, which ends the wait in `run`. A second signal kills them.

        A web server that drains is asked later. Its watcher ends now, and another one may lead.
        """
        self._ends_at_once = bool(self._stopped_by) or number == signal.SIGQUIT
        self._draining.value = 1
        if WEB in self._children and not settings.BERTH_DRAIN_SECONDS:
            self._close_listener()
        if self._ends_at_once:
            self._predecessors.kill()
        for name, child in self._children.items():
            if self._ends_at_once:
                child.kill()
            elif name != WEB or not settings.BERTH_DRAIN_SECONDS:
                child.terminate()
        self._stopped_by = number

    def _drain(self) -> None:
        """Continues to serve, while `/readyz` says that it will stop soon."""
        until = time.monotonic() + settings.BERTH_DRAIN_SECONDS
        if settings.BERTH_DRAIN_SECONDS:
            longest = settings.BERTH_DRAIN_SECONDS + KILL_AFTER + 5
            self._systemd.notify(STOPPING, f"EXTEND_TIMEOUT_USEC={longest * 1_000_000}")
        while not self._ends_at_once and self._web_lives() and (left := until - time.monotonic()) > 0:
            self._systemd.show_life()
            wait([self._children[WEB].sentinel], timeout=min(LOOK_EVERY, left))

    def _on_hand_over(self, _number: int, _frame: FrameType | None) -> None:
        self._hands_over = True

    def _try_new_program(self) -> None:
        self._hands_over = False
        if self._predecessors.pids or self._trial.is_on:
            logger.warning("The service is being handed over already.")
            return
        logger.info("Handing over to the program in %s.", settings.BASE_DIR)
        self._systemd.reloading()
        try:
            self._trial.begin(command_of_new_program("--check"))
        except OSError as error:
            self._trial.end()
            self._stay(str(error))

    def _hand_over(self) -> None:
        pids = {child.pid for child in self._children.values() if child.pid and child.is_alive()}
        try:
            execute_again(self._listener, self._child_starter.lifeline, pids, self._systemd.environment())
        except OSError as error:
            self._listen_to_signals()
            self._stay(str(error))

    def _stay(self, obstacle: str) -> None:
        logger.error("The new program cannot start, so this one continues: %s", obstacle)
        if self._pid_file is not None:
            self._pid_file.note_obstacle(obstacle)
        self._systemd.notify(READY)

    def _close_listener(self) -> None:
        """Closes our copy before the accepting processes end: with a copy left, the kernel would still accept clients
        that nobody answers.
        """
        if self._listener is not None:
            self._listener.close()

    def _end(self) -> int:
        self._systemd.notify(STOPPING)
        self._close_listener()
        self._trial.end()
        self._predecessors.release(KILL_AFTER + 2)
        end_all(self._children.values())
        self._predecessors.end(KILL_AFTER + 2)
        if self._ends_at_once:
            return 128 + self._stopped_by
        if self._stopped_by:
            return 0
        code = self._children[WEB].exitcode or 1
        logger.error("The web server stopped by itself with exit code %s, so everything stops.", code)
        return code if code >= 0 else 128 - code
