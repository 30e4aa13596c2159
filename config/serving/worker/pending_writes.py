"""The rest of answers whose clients read them slowly. The worker's loop sends all of it, without a thread."""

import time
from collections.abc import Callable
from functools import partial

from config.serving.worker.connections import STALL, Connection, Deadlines
from config.serving.worker.event_loop import WRITE, EventLoop

UNSENT_LIMIT = 64 * 1024 * 1024
"""Bytes of all answers together that may wait for their clients."""


class PendingWrites:
    """Sends the rest of answers, and closes connections that leave too much of it or accept nothing for long."""

    def __init__(
        self, loop: EventLoop, *, on_sent: Callable[[Connection], None], on_failure: Callable[[Connection], None]
    ) -> None:
        self._loop, self._on_sent, self._on_failure = loop, on_sent, on_failure
        self.waiting = Deadlines(STALL)

    def send(self, connection: Connection, data: bytes) -> None:
        """Sends what the client accepts at once, and the rest later."""
        try:
            connection.sendall(data)
        except OSError:
            self._on_failure(connection)

    def add(self, connection: Connection) -> None:
        """Any thread may call this."""
        self._loop.call_soon(partial(self._begin, connection))

    def discard(self, connection: Connection) -> None:
        self.waiting.discard(connection)

    def _begin(self, connection: Connection) -> None:
        if connection.is_closed or not connection.unsent or connection in self.waiting:
            return
        self.waiting.restart(connection, time.monotonic())
        self._loop.watch(connection, WRITE, self._flush)
        while sum(each.unsent for each in self.waiting) > UNSENT_LIMIT and (oldest := self.waiting.oldest()):
            self._on_failure(oldest)

    def _flush(self, connection: Connection) -> None:
        if connection.is_closed:
            return
        try:
            sent = connection.flush()
        except OSError:
            self._on_failure(connection)
            return
        if connection.unsent:
            if sent:
                self.waiting.restart(connection, time.monotonic())
            return
        self.waiting.discard(connection)
        self._on_sent(connection)
