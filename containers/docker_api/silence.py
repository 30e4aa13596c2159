"""Waits for more of a followed answer without reading, because a read that has timed out cannot be continued."""

import select
import ssl
from collections.abc import Iterator
from typing import Any

import requests

SILENCES = 15
"""After this many silences the stream is opened again: an engine that has vanished looks like a silent agent."""


def read_with_silences(response: requests.Response) -> Iterator[bytes]:
    """Yields the body as it arrives, with an empty piece after each silence. After `SILENCES`, a read times out."""
    silences = 0
    try:
        while True:
            if silences < SILENCES and _is_silent(response):
                silences += 1
                yield b""
            elif chunk := response.raw.read1(64 * 1024):
                silences = 0
                yield chunk
            else:
                return
    finally:
        response.close()


def _is_silent(response: requests.Response) -> bool:
    """Waits as long as a read of this answer would, and returns whether nothing arrived meanwhile.

    It returns False if it cannot tell: over TLS, and if the answer owns its connection. Then a read finds out.
    """
    body: Any = response.raw._fp  # noqa: SLF001 - the answer of http.client; urllib3 offers no other way to it
    sock: Any = getattr(response.raw.connection, "sock", None)
    patience = sock.gettimeout() if sock and not isinstance(sock, ssl.SSLSocket) else None
    is_whole = body.fp is None or body.length == 0
    if not patience or is_whole or _has_come(body, sock, patience):
        return False
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(patience * 1000)


def _has_come(body: Any, sock: Any, patience: float) -> bool:
    """Returns whether there are bytes to read at once: more of a chunk, or the head of the next one."""
    sock.settimeout(0)
    try:
        waiting = body.fp.peek(1)
    finally:
        sock.settimeout(patience)
    # The line break that ends a chunk arrives with it, and is read together with the next chunk's head.
    is_between = body.chunked and not body.chunk_left
    return bool(waiting.strip(b"\r\n") if is_between else waiting)
