"""Starts the child processes of the service: the first ones as forks of this process, later ones from scratch.

A fork has imported everything, which takes a second on a slow machine, and shares that memory. A process that is
started later must run the files as they are by then.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from config.serving.supervision.children import KILL_AFTER, KILLED_WITHIN, run_child, start_child

_OBEYED = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}


class ChildStarter:
    """Also holds the lifeline, which ends the children together with this process.

    `forks`: a fork would lack nothing of this process, such as a database connection. `own` are descriptors that a
    child must not keep open.
    """

    def __init__(self, *, forks: bool = False, own: Collection[int] = ()) -> None:
        self._lifeline_out, self._lifeline_in = multiprocessing.get_context("spawn").Pipe(duplex=False)
        self._forks = forks
        self._own = {self.lifeline, *own}

    @property
    def lifeline(self) -> int:
        """The descriptor whose last copy keeps the children alive."""
        return self._lifeline_in.fileno()

    def start(
        self, name: str, target: Callable[..., None], *arguments: object, given: int | None = None
    ) -> BaseProcess:
        """`given` is one of the own descriptors that this child gets. Raises `OSError` if the system has no room."""
        if not (self._forks and has_one_thread()):
            return start_child(name, self._lifeline_out, target, *arguments)
        return _fork(name, self._own - {given}, self._lifeline_out, target, *arguments)

    def settle(self) -> None:
        """Starts all further children from scratch."""
        self._forks = False


def end_all(children: Iterable[BaseProcess]) -> None:
    """Ends them: with SIGTERM, and with SIGKILL those that still live after `KILL_AFTER` seconds."""
    ending = list(children)
    deadline = time.monotonic() + KILL_AFTER
    for child in ending:
        if child.is_alive():
            child.terminate()
    for child in ending:
        child.join(max(0.0, deadline - time.monotonic()))
        if child.is_alive():
            child.kill()
            child.join(KILLED_WITHIN)


def has_one_thread() -> bool:
    """Returns whether this process has one thread. A fork lacks others, and keeps their locks forever."""
    with suppress(OSError):
        return len(list(Path("/proc/self/task").iterdir())) == 1
    return False


def _fork(
    name: str, but: Iterable[int], lifeline: Connection, target: Callable[..., None], *arguments: object
) -> BaseProcess:
    """Blocks signals until the fork has its own handlers, because the parent's handlers are not for it."""
    child = multiprocessing.get_context("fork").Process(
        target=_run_copy, args=(but, lifeline, target, *arguments), name=name
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OBEYED)
    try:
        child.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


def _run_copy(but: Iterable[int], lifeline: Connection, target: Callable[..., None], *arguments: object) -> None:
    for descriptor in but:
        os.close(descriptor)
    for number in _OBEYED:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    os.setpgrp()  # before it can get signals that the terminal sends to all
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OBEYED)
    run_child(lifeline, target, *arguments)
