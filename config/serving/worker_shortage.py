"""Refuses all requests while the system has no room for a single worker.

The web server itself does so with its one thread, one client after another, and with short time limits.
"""

import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from config.serving.worker.refusals import refusal

EACH_WITHIN = 0.2
"""Seconds for one client to send the head of a request, and as many to read the answer. Others wait meanwhile."""

LONGEST = 64 * 1024
"""Bytes that are read from a client."""

LOOK_EVERY = 0.1
"""Seconds between two checks whether it is over, and of rest if no connection can be accepted."""


def refuse_all(listeners: Sequence[Any], *, seconds: float, is_over: Callable[[], bool]) -> None:
    """Answers 503 to all clients for this many seconds, or until it `is_over`."""
    until = time.monotonic() + seconds
    waiting = select.poll()
    by_descriptor: Mapping[int, Any] = {each.fileno(): each for each in listeners}
    for descriptor in by_descriptor:
        waiting.register(descriptor, select.POLLIN)
    while not is_over() and (left := until - time.monotonic()) > 0:
        for descriptor, _ in waiting.poll(1000 * min(left, LOOK_EVERY)):
            _refuse_next(by_descriptor[descriptor])


def _refuse_next(listener: Any) -> None:
    try:
        client, _ = listener.accept()
    except BlockingIOError:
        return  # it has left again, or another process was quicker
    except OSError:
        time.sleep(LOOK_EVERY)  # no descriptor for it: the kernel would report again and again that a client waits
        return
    with client, suppress(OSError):
        _read_until(client, b"\r\n\r\n")
        client.sendall(refusal(503))
        client.shutdown(socket.SHUT_WR)
        _read_until(client, b"")


def _read_until(client: Any, end: bytes) -> None:
    """Reads what comes before the `end`, or all: unread data would break off the answer on its way."""
    until = time.monotonic() + EACH_WITHIN
    received = b""
    while len(received) < LONGEST and not (end and end in received) and (left := until - time.monotonic()) > 0:
        client.settimeout(left)
        try:
            piece = client.recv(4096)
        except TimeoutError:
            return
        if not piece:
            return
        received += piece
