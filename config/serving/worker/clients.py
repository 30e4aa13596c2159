"""The clients of a worker: reads their requests, gives complete ones to threads, and sends the rest of their answers.

All of this happens in the worker's loop, which closes the connections of clients that keep it waiting too long.
"""

import socket
import time
from functools import partial
from typing import Any

from django.conf import settings

from config.serving.worker.answers import respond
from config.serving.worker.connections import Connection, Deadlines
from config.serving.worker.context import WorkerContext
from config.serving.worker.event_loop import READ
from config.serving.worker.framing import Framing, TooLargeError
from config.serving.worker.pending_writes import PendingWrites
from config.serving.worker.refusals import refusal

HEAD_WITHIN = 10.0
BODY_WITHIN = 20.0
LINGER = 3.0
"""Seconds for discarding what a client still sends after an answer that ends the connection.

Closing at once would reset the connection, and the client might never see the answer."""

CONNECTIONS = 1000
"""Per worker. Beyond that, the oldest connection that waits for its client is closed for each new one."""

READ_SIZE = 64 * 1024
WARN_EVERY = 60.0


class Clients:
    def __init__(self, worker: WorkerContext) -> None:
        self._worker = worker
        self._watch = worker.loop.watch
        self.connections: set[Connection] = set()
        self._idle = Deadlines(worker.cfg.keepalive)
        self._heads, self._bodies = Deadlines(HEAD_WITHIN), Deadlines(BODY_WITHIN)
        self._lingering = Deadlines(LINGER)
        self._pending_writes = PendingWrites(worker.loop, on_sent=self._after_sending, on_failure=self._close)
        self._evicted, self._warn_at = 0, 0.0

    @property
    def are_busy(self) -> bool:
        """Returns whether a request has begun to arrive, or its answer is not sent yet."""
        started = any(connection.received for connection in self._heads)
        return started or len(self._bodies) > 0 or any(each.is_answering or each.unsent for each in self.connections)

    def close(self) -> None:
        for connection in tuple(self.connections):
            self._close(connection)

    def open(self, sock: socket.socket, address: Any, server: Any) -> None:
        if len(self.connections) >= CONNECTIONS and not self.evict():
            sock.close()
            return
        sock.setblocking(False)  # noqa: FBT003 - the standard library's own
        connection = Connection(sock, address, server, on_unsent=self._pending_writes.add)
        self.connections.add(connection)
        self._expect_request(connection, self._heads)
        self._read(connection)

    def _expect_request(self, connection: Connection, phase: Deadlines) -> None:
        connection.framing = Framing(body_limit=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        phase.restart(connection, time.monotonic())

    def _read(self, connection: Connection) -> None:
        if connection.is_closed:
            return
        if connection.is_answering:
            self._watch(connection, 0)  # its next request waits in the kernel
            connection.note_end()
            return
        try:
            data = connection.socket.recv(READ_SIZE)
        except BlockingIOError:
            self._watch(connection, READ, self._read)
            return
        except OSError:
            data = b""
        if not data:
            self._close(connection)
        elif connection not in self._lingering:
            connection.received += data
            self._advance(connection)

    def _advance(self, connection: Connection) -> None:
        """Gives the request to a thread if it is complete, and otherwise waits for the rest."""
        try:
            end = connection.framing.find_end(connection.received)
        except TooLargeError as error:
            self._refuse(connection, error.status)
            return
        if end is None:
            self._await_rest(connection)
            return
        request = bytes(connection.received[:end])
        del connection.received[:end]
        self._leave_phase(connection)
        connection.is_answering = True  # it stays watched: most clients send nothing more before they have the answer
        answer = partial(respond, self._worker, connection, request, time.monotonic())
        if self._worker.is_starved or not self._worker.threads_for(request).take(answer):
            self._refuse(connection, 503)

    def _await_rest(self, connection: Connection) -> None:
        self._watch(connection, READ, self._read)
        if not connection.framing.has_head:
            if connection in self._idle:
                self._idle.discard(connection)
                self._heads.restart(connection, time.monotonic())
            return
        if connection not in self._bodies:
            self._leave_phase(connection)
            self._bodies.restart(connection, time.monotonic())
            if connection.framing.awaits_continue:
                self._pending_writes.send(connection, b"HTTP/1.1 100 Continue\r\n\r\n")

    def watch_end(self, connection: Connection) -> None:
        """Watches the connection of a long answer, so that the answer ends soon after its client has left."""
        if connection.is_answering and not connection.interest:
            self._watch(connection, READ, self._read)

    def finish(self, connection: Connection, *, is_reusable: bool) -> None:
        """The answer is complete. It may not be sent yet."""
        connection.is_answering = False
        connection.is_reusable = is_reusable
        if connection.is_closed:
            self.connections.discard(connection)
        elif not connection.unsent:
            self._after_answer(connection)

    def _after_answer(self, connection: Connection) -> None:
        if not connection.is_reusable:
            self._linger(connection)
            return
        self._expect_request(connection, self._idle)
        if connection.received:
            self._advance(connection)
        else:
            self._watch(connection, READ, self._read)

    def _after_sending(self, connection: Connection) -> None:
        self._watch(connection, 0)
        if not connection.is_answering:
            self._after_answer(connection)

    def _refuse(self, connection: Connection, status: int) -> None:
        self._leave_phase(connection)
        self._watch(connection, 0)
        self._pending_writes.send(connection, refusal(status))
        self.finish(connection, is_reusable=False)

    def _linger(self, connection: Connection) -> None:
        """Shuts down sending, and reads on for a while."""
        try:
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        connection.received.clear()
        self._lingering.restart(connection, time.monotonic())
        self._watch(connection, READ, self._read)

    def expire(self, now: float) -> None:
        for phase in (self._idle, self._lingering, self._pending_writes.waiting):
            for connection in phase.expired(now):
                self._close(connection)
        for phase in (self._heads, self._bodies):
            for connection in phase.expired(now):
                self._refuse(connection, 408) if connection.received else self._close(connection)
        if self._evicted and now >= self._warn_at:
            warning = "Closed %s connections that kept the server waiting: there were too many."
            self._worker.log.warning(warning, self._evicted)
            self._evicted, self._warn_at = 0, now + WARN_EVERY

    def evict(self) -> bool:
        """Closes the connection that has waited longest for its client. Returns whether there was one."""
        for phase in (self._lingering, self._heads, self._idle, self._bodies, self._pending_writes.waiting):
            if (oldest := phase.oldest()) is not None:
                self._close(oldest)
                self._evicted += 1
                return True
        return False

    def _close(self, connection: Connection) -> None:
        self._leave_phase(connection)
        self._pending_writes.discard(connection)
        self._watch(connection, 0)
        connection.close()
        if not connection.is_answering:
            self.connections.discard(connection)

    def _leave_phase(self, connection: Connection) -> None:
        for phase in (self._heads, self._bodies, self._idle, self._lingering):
            phase.discard(connection)
