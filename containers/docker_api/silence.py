"""Waits for more of an answer that is followed, without a read: one that has timed out cannot be continued."""

import select
import ssl
from collections.abc import Iterator
from typing import Any

import requests

SILENCES = 15
"""After so many the stream is opened again: an engine that is gone without a word looks like a silent agent."""


def read_with_silences(response: requests.Response) -> Iterator[bytes]:
    """The body as it arrives, with an empty piece after each silence. After many, a read times out instead."""
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
    """Waits as long as a read of this answer would, and says whether nothing came meanwhile.

    It says no where it cannot tell: over TLS, and where the connection is the answer's own. A read tells then.
    """
    body: Any = response.raw._fp  # noqa: SLF001 - of http.client; urllib3 has no other way to it
    sock: Any = getattr(response.raw.connection, "sock", None)
    patience = sock.gettimeout() if sock and not isinstance(sock, ssl.SSLSocket) else None
    is_whole = body.fp is None or body.length == 0
    if not patience or is_whole or _has_come(body, sock, patience):
        return False
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(patience * 1000)


def _has_come(body: Any, sock: Any, patience: float) -> bool:
    """Whether there are bytes to be read at once: more of a chunk, or the head of another."""
    sock.settimeout(0)
    try:
        waiting = body.fp.peek(1)
    finally:
        sock.settimeout(patience)
    # What ends a chunk comes with it, and is read with the next one's head.
    is_between = body.chunked and not body.chunk_left
    return bool(waiting.strip(b"\r\n") if is_between else waiting)
