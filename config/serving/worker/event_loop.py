"""The loop of a worker: waits until something can be read or written, and runs what other threads ask for."""

import os
import selectors
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from config.reserve import is_starvation
from config.serving.worker.connections import Connection

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LONGEST_WAIT = 1.0
PIPE_SIZE = 64 * 1024

Act = Callable[[], None]


class EventLoop:
    """`call_soon`, `call_next` and `wake` may be called by any thread, all else by the thread of the loop only.

    `pipe` wakes the loop: the read end and the write end, neither of which blocks.
    """

    def __init__(self, pipe: tuple[int, int], log: Any) -> None:
        self._pipe_out, self._pipe_in = pipe
        self._log = log
        self._selector = selectors.DefaultSelector()
        self._calls: deque[Act] = deque()
        self._selector.register(self._pipe_out, READ, self._empty_pipe)

    def listen(self, listener: Any, act: Act) -> None:
        """Calls this whenever a client wants to connect."""
        listener.setblocking(False)  # noqa: FBT003 - the standard library's own
        self._selector.register(listener, READ, act)

    def stop_listening(self, listener: Any) -> None:
        self._selector.unregister(listener)

    def watch(self, connection: Connection, interest: int, act: Callable[[Connection], None] | None = None) -> None:
        """Calls this with the connection whenever it can be read or written. 0 ends that."""
        if interest == connection.interest:
            return
        if connection.interest:
            self._selector.unregister(connection.socket)
        if act is not None:
            self._selector.register(connection.socket, interest, partial(act, connection))
        connection.interest = interest

    def call_soon(self, act: Act) -> None:
        self.call_next(act)
        self.wake()

    def call_next(self, act: Act) -> None:
        """Calls this first in the next turn, which comes within `LONGEST_WAIT`, or when `wake` is called."""
        self._calls.append(act)

    def wake(self) -> None:
        try:
            os.write(self._pipe_in, b".")
        except BlockingIOError:
            return  # it is awake already

    def turn(self) -> None:
        ready = self._selector.select(LONGEST_WAIT)
        self._do_calls()
        for key, _ in ready:
            self._do(key.data)
        self._do_calls()

    def close(self) -> None:
        self._selector.close()

    def _do_calls(self) -> None:
        for _ in range(len(self._calls)):
            self._do(self._calls.popleft())

    def _do(self, act: Act) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - what went wrong with one connection must not end the others
            is_starvation(error)  # so that a descriptor is free for writing a log line
            self._log.exception("The server's loop met an error and continues.")

    def _empty_pipe(self) -> None:
        os.read(self._pipe_out, PIPE_SIZE)
