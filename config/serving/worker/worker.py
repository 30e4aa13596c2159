"""A gunicorn worker that gives a thread only to complete requests.

One loop accepts, reads and closes all connections, and each phase of a connection has a deadline. A thread gets a
request when its last byte has arrived, and leaves to the loop what a slow client has not read of the answer. So threads
are free for other requests, however many clients are silent, send byte by byte or do not read. If there are too many
connections, the one that has kept the server waiting longest is closed. Event streams have threads of their own, and so
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

from config.pause_detection import PAUSE_DETECTOR
from config.reserve import RESERVE, is_starvation
from config.serving.worker.clients import CONNECTIONS, Clients
from config.serving.worker.event_loop import EventLoop
from config.serving.worker.heartbeat import SharedPulse
from config.serving.worker.threads import Threads

LINGER_AT_END = 1.0
"""Seconds for clients with an open connection, which may be sending their next request when the server stops."""

STARVED_FOR = 10.0
"""Seconds for which a worker may get no more resources from the kernel. Then another process replaces it."""

BOOTS_EVERY = 1.0
"""Seconds that a worker rests if it has no room to boot, because the next one comes at once."""

NOBODY_COMES_IN = 0.05
"""Seconds of rest if no connection can be accepted. The kernel would report again and again that a client waits."""

PATH_WITHIN = 100
"""Bytes of a request that contain any whole path with threads of its own."""

CHECKED_PATHS = (b"/healthz", b"/readyz", b"/readyz/server", b"/metrics")
"""Paths that each have a thread of their own."""

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class KnownSettings:
    """gunicorn's settings, each looked up once. It looks them up for each use, dozens of times for one request."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        value = vars(self)[name] = getattr(self._settings, name)
        return value


class BufferingWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn creates one for each process."""

    alive: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        vars(self)["tmp"].close()
        self.tmp: Any = SharedPulse(self.cfg)

    def set_up(self) -> None:
        """Creates what each process has of its own."""
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
        """Unlike in gunicorn, a worker without enough resources to boot does not end the server: the next one may get
        more.
        """
        try:
            super().init_process()
        except Exception as error:
            if self.booted or not is_starvation(error):
                raise
            self.log.error("The system has no room for a new worker: %s. Another one is tried.", error)  # noqa: TRY400 - says it all
            time.sleep(BOOTS_EVERY)
            sys.exit(os.EX_TEMPFAIL)

    def begin_when_possible(self, begin: Callable[[], bool]) -> None:
        """Calls it, now and every second, until it returns True."""
        if not begin():
            self._to_begin.append(begin)

    def load_wsgi(self) -> None:
        """The last step of gunicorn between the fork and `run`."""
        super().load_wsgi()
        self.set_up()

    def init_signals(self) -> None:
        """Obeys only signals from the arbiter and the kernel: a signal that ends one worker must not end all."""
        super().init_signals()
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            signal.signal(number, signal.SIG_IGN)

    def handle_quit(self, _number: int, _frame: Any) -> None:
        """Ends at once. Python itself would wait for every thread."""
        os._exit(0)

    def threads_for(self, request: bytes) -> Threads:
        """Returns the threads that answer a request with this head."""
        path = request[:PATH_WITHIN].partition(b" ")[2].partition(b" ")[0].partition(b"?")[0]
        return self._checks.get(path, self.threads)

    def run(self) -> None:
        for listener in self.sockets:
            self.loop.listen(listener, partial(self._accept, listener))
        while self.alive and self.ppid == os.getppid():
            self._turn()
        self.alive = False  # even if the server was killed: streams end, and no connection is kept
        self._end()

    def _turn(self) -> None:
        self.loop.turn()
        now = time.monotonic()
        if now >= self._notify_at:
            self._notify_at = now + 1.0
            PAUSE_DETECTOR.tick()
            self.notify()
            self.clients.expire(now)
            self._look_after_reserve(now)
            self._to_begin = [begin for begin in self._to_begin if self.is_starved or not begin()]

    @property
    def is_starved(self) -> bool:
        """Whether it gets no more resources from the kernel. It finishes what it has begun, and begins nothing."""
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
            self.log.error("The system still gives this worker nothing. Another one replaces it.")
            self.alive = False

    def _accept_rest(self, listener: Any) -> None:
        """Accepts connections that the kernel has queued for us: they would be reset with the last listener."""
        while len(self.clients.connections) < CONNECTIONS:
            try:
                accepted, address = listener.accept()
            except OSError:
                return
            self.clients.open(accepted, address, listener.getsockname())

    def _accept(self, listener: Any) -> None:
        """Accepts one connection in each turn of the loop. Otherwise the first process to wake accepts all clients that
        arrive together, and keeps them, while the other processes are idle.
        """
        try:
            accepted, address = listener.accept()
        except OSError as error:
            # With the reserve it can be accepted in the next turn, and no client is dropped.
            if error.errno in _NO_ROOM and not RESERVE.spend() and not self.clients.evict():
                time.sleep(NOBODY_COMES_IN)
            return
        self.clients.open(accepted, address, listener.getsockname())

    def _end(self) -> None:
        """Answers requests that have begun, until the grace period ends."""
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
