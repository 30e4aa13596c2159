"""Looks up the addresses of hosts, although `getaddrinfo` has no timeout and cannot be cancelled.

A look-up that takes too long continues in its own thread, and keeps its place until the C library gives up. Therefore
only a few may run at a time, and even fewer for one person, whose hosts may have names that time out on purpose. A host
that is already an address needs no look-up and no place.
"""

import socket
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from weakref import WeakValueDictionary

from containers.processes.side_work import SideWork

MOST = 32
"""Look-ups that may still be waiting for a name server after their callers have left."""

OF_ONE = 2
"""The same for one asker."""

BEGINS_WITHIN = 2.0
"""Seconds for the thread of a look-up to begin. A thread that gets no memory never does."""

Found = list[tuple[Any, ...]]

_places = threading.BoundedSemaphore(MOST)
_turns: WeakValueDictionary[str, threading.Semaphore] = WeakValueDictionary()
_turns_lock = threading.Lock()


def find_addresses(host: str, port: int, *, within: float, asker: str) -> Found:
    """Returns the addresses in the form of `socket.getaddrinfo`. Raises `OSError`; if time is up, its `TimeoutError`.

    `asker` is the person who named the host. It is empty for the operator, who has no limit of their own.
    """
    if _is_address(host):
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    until = time.monotonic() + within
    give_back = _take_place(asker, until)

    def look_up() -> Found:
        try:
            return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        finally:
            give_back()

    looking = SideWork(look_up)
    if not (looking.begin() and looking.wait(min(_left(until), BEGINS_WITHIN))) and looking.cancel():
        give_back()
        raise OSError("No thread can be started to look up a name.")
    if not looking.wait(_left(until)):
        raise TimeoutError("No name server has answered in time.")
    return looking.result()


def _take_place(asker: str, until: float) -> Callable[[], None]:
    """Takes a place for a look-up, and returns the function that gives it back. Raises `TimeoutError`."""
    with _turns_lock:
        turn = _turns.setdefault(asker, threading.Semaphore(OF_ONE)) if asker else threading.Semaphore()
    if not turn.acquire(timeout=_left(until)):
        raise TimeoutError("Look-ups of names for the same person are under way.")
    if not _places.acquire(timeout=_left(until)):
        turn.release()
        raise TimeoutError("Too many look-ups of names are under way.")

    def give_back() -> None:
        _places.release()
        turn.release()

    return give_back


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
