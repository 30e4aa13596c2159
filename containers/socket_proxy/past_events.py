"""Passes on past events. The engine remembers only a few of all kinds, so a client has to count the events of other
programs as well to know whether some are forgotten. They are shown without their objects.
"""

import json
from asyncio import StreamReader
from collections.abc import Iterator

from containers.socket_proxy.constants import Scope
from containers.socket_proxy.engine import within
from containers.socket_proxy.requests import Request, read_chunks
from containers.socket_proxy.streams import Pair, find_length, first_of, read_all, wait_for_end

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer. Docker remembers 256 events, each with all labels of its object."""

OF_OTHERS = b'{"Type":"other"}'


def is_of_all(request: Request) -> bool:
    """Returns whether the request asks for all events between two moments."""
    return request.params.keys() == {"since", "until"}


async def pass_past_events(engine: Pair, client: Pair, scope: Scope) -> None:
    """Passes the whole answer on, or nothing if the engine does not end it because `until` is still in the future."""
    await first_of(_answer(engine[0], client, scope), wait_for_end(client[0]))


async def _answer(engine: StreamReader, client: Pair, scope: Scope) -> None:
    line, body = await _read(engine)
    if line.split()[1:2] == [b"200"]:
        body = b"".join(_shown(body, scope))
    head = b"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close" % len(body)
    client[1].write(line + b"\r\n" + head + b"\r\n\r\n" + body)
    await client[1].drain()


async def _read(engine: StreamReader) -> tuple[bytes, bytes]:
    """Returns the first line and the complete body."""
    async with within():
        head = await engine.readuntil(b"\r\n\r\n")
        line = head.partition(b"\r\n")[0]
        if (length := find_length(head)) is not None:
            return line, await read_all(engine, most=LARGEST, length=length)
        return line, await read_chunks(engine, most=LARGEST)


def _shown(body: bytes, scope: Scope) -> Iterator[bytes]:
    for line in body.splitlines():
        yield (line if _is_berths(line, scope) else OF_OTHERS) + b"\n"


def _is_berths(line: bytes, scope: Scope) -> bool:
    facts = json.loads(line)["Actor"].get("Attributes") or {}
    return scope.kind_of(facts) is not None
