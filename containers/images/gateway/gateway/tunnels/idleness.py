"""Notices when nothing moves in a tunnel any more, and ends connections whose other side takes nothing more."""

import asyncio
import fcntl
import struct
import termios
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

IDLE_FOR = 300.0
"""Seconds without traffic after which a tunnel is closed."""
LOOKS = 10
"""How often it is checked meanwhile whether anything has moved."""
REST_WITHIN = 20.0
"""Seconds in which the other side must take something of what is left for it when its connection ends."""
LOOK_EVERY = 0.05

T = TypeVar("T")


class IdleError(Exception):
    """Nothing has moved for `IDLE_FOR` seconds."""


async def unless_idle(do: Callable[[], Awaitable[T]], mark: Callable[[], object]) -> T:
    """Returns what `do` returns. Raises IdleError once `mark` has stayed the same for `IDLE_FOR` seconds.

    `do` is cancelled and called again between the checks, so it must lose nothing when it is cancelled.
    """
    clock = asyncio.get_running_loop().time
    before: object = None
    since = clock()
    while True:
        limit = asyncio.timeout(IDLE_FOR / LOOKS)
        try:
            async with limit:
                return await do()
        except TimeoutError:
            if not limit.expired():
                raise  # the connection has timed out
        after = mark()
        if after != before:
            before, since = after, clock()
        elif clock() - since >= IDLE_FOR:
            raise IdleError


def unsent(transport: asyncio.BaseTransport) -> int:
    """Returns how many bytes the other side has not taken yet, including those that wait in the kernel."""
    given: Any = transport
    waiting, sock = int(given.get_write_buffer_size()), given.get_extra_info("socket")
    with suppress(OSError, ValueError, AttributeError, RuntimeError):  # the connection has ended
        waiting += struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
    return waiting


async def send_rest(transport: asyncio.WriteTransport) -> None:
    """Closes the connection. Ends when the kernel has all that was written, or the other side takes no more."""
    clock = asyncio.get_running_loop().time
    try:
        transport.close()
        before, until = -1, 0.0
        while transport.get_write_buffer_size():
            left = unsent(transport)
            if left != before:
                before, until = left, clock() + REST_WITHIN
            elif clock() >= until:
                break
            await asyncio.sleep(LOOK_EVERY)
    finally:
        if transport.get_write_buffer_size():  # asyncio cannot abort a connection that has sent everything and closed
            transport.abort()
