"""Connections of clients: received bytes that are no complete request yet, and answers that were not sent yet.

Sockets never block. The worker's loop reads, closes and sends the rest of an answer; the thread that answers a request
only leaves its bytes here, so it never waits for a client that reads slowly.
"""

import socket
from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any

from config.serving.worker.framing import Framing

UNSENT_LIMIT = 4 * 1024 * 1024
"""Bytes of one answer that may wait for its client: more than any answer of a request thread has."""

STALL = 20.0
"""Seconds for which a client may accept nothing of its answer."""

ROOM_WITHIN = 2 * STALL
"""Seconds in which a client must make room for the next piece of an answer. A lease lasts longer."""


class Connection:
    """`hold`, `release`, `drop`, `sendall`, `send` and reading `sends_no_more` are for the answering thread.

    All else is for the worker's loop. gunicorn writes an answer to this object, which replaces the socket.
    """

    def __init__(self, sock: socket.socket, address: Any, server: Any, *, on_unsent: "Callable[[Connection], None]"):
        self.socket = sock
        self.address = address
        self.server = server
        self.received = bytearray()
        self.framing: Framing
        self.is_answering = False
        self.is_reusable = False
        """Whether another request may follow the answer that is being sent."""
        self.interest = 0
        """The events that the loop waits for."""
        self.is_closed = False
        self.sends_no_more = False
        """Whether the client was seen to have stopped sending, as a client does that leaves."""
        self._held: bytes | None = None
        self._on_unsent = on_unsent
        self._unsent = bytearray()
        self._changed = Condition()

    def hold(self) -> None:
        """Keeps the next piece until another one or `release` follows.

        gunicorn writes the head of an answer and then its body. Together they need one system call, and the client
        wakes once.
        """
        self._held = b""

    def release(self) -> None:
        """Sends what is still held, and holds nothing more. Raises `OSError` once the client has left."""
        held, self._held = self._held, None
        if held:
            self.sendall(held)

    def drop(self) -> None:
        """Discards what is still held, and holds nothing more."""
        self._held = None

    def sendall(self, data: bytes) -> None:
        """Sends what the client accepts at once, and keeps the rest for the loop. Raises `OSError` once it has left."""
        if self._held == b"":
            self._held = data
            return
        if self._held is not None:
            data, self._held = self._held + data, None
        with self._changed:
            self._wait_for_room()
            if self.is_closed:
                raise BrokenPipeError
            sent = 0 if self._unsent else _send(self.socket, data)
            if sent == len(data):
                return
            self._unsent += memoryview(data)[sent:]
        self._on_unsent(self)

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def gettimeout(self) -> float:
        """Zero, as for every non-blocking socket."""
        return 0.0

    @property
    def unsent(self) -> int:
        return len(self._unsent)

    def flush(self) -> int:
        """Sends some of what waits. Returns how many bytes the client accepted. Raises `OSError` if it has left."""
        with self._changed:
            sent = _send(self.socket, self._unsent)
            del self._unsent[:sent]
            if sent:
                self._changed.notify_all()
        return sent

    def note_end(self) -> None:
        """Checks whether the client has stopped sending, without reading anything that it has sent."""
        try:
            self.sends_no_more = not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            self.sends_no_more = True

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._unsent.clear()
            self.socket.close()
            self._changed.notify_all()

    def _wait_for_room(self) -> None:
        """Waits for room. Only an answer with a thread of its own gets here. Accepting byte by byte does not make room
        in time.
        """
        if not self._changed.wait_for(lambda: self.is_closed or len(self._unsent) < UNSENT_LIMIT, ROOM_WITHIN):
            raise TimeoutError("The client takes its answer too slowly.")


def _send(sock: socket.socket, data: bytes | bytearray) -> int:
    try:
        return sock.send(data)
    except (BlockingIOError, InterruptedError):
        return 0


class Deadlines:
    """Connections in a phase with a time limit, in the order in which their time ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: dict[Connection, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._until))

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._until

    def restart(self, connection: Connection, now: float) -> None:
        """Gives the connection its whole time, from now on."""
        self._until.pop(connection, None)
        self._until[connection] = now + self._seconds

    def discard(self, connection: Connection) -> None:
        self._until.pop(connection, None)

    def oldest(self) -> Connection | None:
        return next(iter(self._until), None)

    def expired(self, now: float) -> Iterator[Connection]:
        """Removes and returns the connections whose time is over."""
        while (connection := self.oldest()) is not None and self._until[connection] <= now:
            del self._until[connection]
            yield connection
