"""A worker of gunicorn that gives a thread to whole requests only.

One loop accepts, reads and closes all connections, each phase of which has a deadline; a thread gets a request when
its last byte is there, and leaves what a slow client has not taken yet of the answer to the loop. So the threads are
free for those who ask, however many clients are silent, send byte by byte or do not read. Where there are too many
connections, the one goes that has kept the server waiting longest. Event streams have threads of their own, and so
have health checks and `/metrics`, which therefore never wait for a thread that others hold.
"""

import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from gunicorn.workers.base import Worker

from config.reserve import RESERVE, tells_of_starvation
from config.serving.clients import CONNECTIONS, Clients
from config.serving.event_loop import EventLoop
from config.serving.shared_pulse import SharedPulse
from config.serving.threads import Threads
from config.stillness import STILLNESS

LINGER_AT_END = 1.0
"""Seconds for clients with an open connection, which may be sending their next request at the moment of the stop."""

STARVED_FOR = 10.0
"""Seconds for which a worker may get nothing more of the kernel. Then another process takes its place."""

BOOTS_EVERY = 1.0
"""Seconds that a worker rests which finds no room for its boot: the next one comes at once."""

NOBODY_COMES_IN = 0.05
"""Seconds of rest where no connection can be accepted. The kernel would go on to say that somebody waits."""

PATH_WITHIN = 100
"""Bytes of a request that hold all of a path which has threads of its own."""

CHECKED_PATHS = (b"/healthz", b"/readyz", b"/readyz/server", b"/metrics")
"""Each has a thread of its own."""

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class KnownSettings:
    """gunicorn's settings, each looked up once. gunicorn does so for each use, dozens of times for one request."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        value = vars(self)[name] = getattr(self._settings, name)
        return value


class BufferingWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn makes one for each process."""

    alive: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        vars(self)["tmp"].close()
        self.tmp: Any = SharedPulse(self.cfg)

    def set_up(self) -> None:
        """Makes what each process has of its own."""
        self.known = KnownSettings(self.cfg)
        self.threads = Threads(self.cfg.threads, "request")
        self.streams = Threads(settings.BERTH_STREAMS, "stream")
        # Not one for all: /readyz waits for the database and the engine, and /metrics for the database.
        self._checks = {path: Threads(1, path.decode()) for path in CHECKED_PATHS}
        for pool in (self.threads, *self._checks.values()):
            pool.begin()
        self.loop = EventLoop(self.PIPE, self.log)
        self.clients = Clients(self)
        self._notify_at = 0.0
        self._starved_since: float | None = None
        self._to_begin: list[Callable[[], bool]] = []

    def init_process(self) -> None:
        """A worker that the system gives too little for its boot is no reason to end the server, as it is for gunicorn:
        the next one may get more.
        """
        try:
            super().init_process()
        except Exception as error:
            if self.booted or not tells_of_starvation(error):
                raise
            self.log.error("The system has no room for a new worker: %s. Another one is tried.", error)  # noqa: TRY400 - says it all
            time.sleep(BOOTS_EVERY)
            sys.exit(os.EX_TEMPFAIL)

    def begin_when_possible(self, begin: Callable[[], bool]) -> None:
        """Calls it, now and every second, until it says that it was done."""
        if not begin():
            self._to_begin.append(begin)

    def load_wsgi(self) -> None:
        """The last that gunicorn does between the fork and `run`."""
        super().load_wsgi()
        self.set_up()

    def init_signals(self) -> None:
        """What ends one is not what ends all: only the arbiter and the kernel's own are obeyed."""
        super().init_signals()
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            signal.signal(number, signal.SIG_IGN)

    def handle_quit(self, _number: int, _frame: Any) -> None:
        """Ends at once. Python itself would wait for every thread."""
        os._exit(0)

    def threads_for(self, request: bytes) -> Threads:
        """Those that answer a request with this head."""
        path = request[:PATH_WITHIN].partition(b" ")[2].partition(b" ")[0].partition(b"?")[0]
        return self._checks.get(path, self.threads)

    def run(self) -> None:
        for listener in self.sockets:
            self.loop.listen(listener, partial(self._accept, listener))
        while self.alive and self.ppid == os.getppid():
            self._turn()
        self.alive = False  # also where the server was killed: streams end, and no connection is kept
        self._end()

    def _turn(self) -> None:
        self.loop.turn()
        now = time.monotonic()
        if now >= self._notify_at:
            self._notify_at = now + 1.0
            STILLNESS.tick()
            self.notify()
            self.clients.expire(now)
            self._look_after_reserve(now)
            self._to_begin = [begin for begin in self._to_begin if self.is_starved or not begin()]

    @property
    def is_starved(self) -> bool:
        """Whether it gets nothing more of the kernel. It ends what it has begun, and begins nothing."""
        return RESERVE.is_spent

    def _look_after_reserve(self, now: float) -> None:
        if RESERVE.fill():
            if self._starved_since is not None:
                self.log.warning("The system gives this worker files and memory again.")
            self._starved_since = None
        elif self._starved_since is None:
            self._starved_since = now
            self.log.error("The system gives this worker no more files or no more memory. It refuses requests.")
        elif now - self._starved_since > STARVED_FOR and self.alive:
            self.log.error("The system goes on to give this worker nothing. Another one takes its place.")
            self.alive = False

    def _accept_rest(self, listener: Any) -> None:
        """Those that the kernel has taken in for us: with the last who listens they would be reset."""
        while len(self.clients.connections) < CONNECTIONS:
            try:
                accepted, address = listener.accept()
            except OSError:
                return
            self.clients.open(accepted, address, listener.getsockname())

    def _accept(self, listener: Any) -> None:
        """One in each turn of the loop: else that of the process that is awake first takes all clients that come
        together, and keeps them, while the other processes have nothing to do.
        """
        try:
            accepted, address = listener.accept()
        except OSError as error:
            # With what was kept back it can be accepted in the next turn, and nobody has to go for it.
            if error.errno in _NO_ROOM and not RESERVE.spend() and not self.clients.evict():
                time.sleep(NOBODY_COMES_IN)
            return
        self.clients.open(accepted, address, listener.getsockname())

    def _end(self) -> None:
        """Answers what was begun, while the grace lasts."""
        for listener in self.sockets:
            self.loop.stop_listening(listener)
            self._accept_rest(listener)
            listener.close()
        began = time.monotonic()
        while self.clients.connections and time.monotonic() - began < self._patience:
            self._turn()
        self.clients.close()
        for pool in (self.threads, self.streams, *self._checks.values()):
            pool.close()
        self.loop.close()
        RESERVE.close()

    @property
    def _patience(self) -> float:
        return float(self.cfg.graceful_timeout) if self.clients.are_busy else LINGER_AT_END
