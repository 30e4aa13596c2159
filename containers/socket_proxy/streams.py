"""Passes data between a client and the engine once a request is checked: an answer, or the streams of a program.

A program's streams have no framing. So nothing from the client goes to an engine until it has confirmed that it hands
them over: an engine that refuses may keep the connection open, and would read further data as another request.
"""

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

from containers.socket_proxy.engine import within
from containers.socket_proxy.requests import PIECE, RefusedError

Pair = tuple[StreamReader, StreamWriter]

LARGEST_EXEC = 64 * 1024
"""Bytes of an answer about the run of a program."""

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: .*)?")
_STREAMS = {"application/vnd.docker.raw-stream", "application/vnd.docker.multiplexed-stream"}
_FRAMES = {"content-length", "transfer-encoding"}


async def pass_answer(engine: Pair, client: Pair) -> None:
    """Passes the engine's answer on until its end. Anything that the client sends meanwhile is dropped and ends it."""
    await first_of(_copy(engine[0], client[1]), wait_for_end(client[0]))


async def pass_streams(engine: Pair, client: Pair, *, upgrades: bool) -> None:
    """Passes data in both directions if the engine hands the streams over. Otherwise passes only its answer on."""
    async with within():
        head = await engine[0].readuntil(b"\r\n\r\n")
    if hands_over(head, upgrades=upgrades):
        client[1].write(head)
        await client[1].drain()
        await first_of(_copy(engine[0], client[1]), _feed(client[0], engine[1]))
        return
    body = await read_all(engine[0], most=LARGEST_EXEC, length=find_length(head))
    client[1].write(head + body)
    await client[1].drain()


def find_length(head: bytes) -> int | None:
    """Returns the length of the body in bytes from an answer's head, or None if it does not say."""
    found = re.search(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*\r\n", head, re.IGNORECASE)
    return int(found[1]) if found else None


def hands_over(head: bytes, *, upgrades: bool) -> bool:
    """Returns whether raw streams follow this head: status 101 if an upgrade was requested, or Docker's own way."""
    line, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _STATUS.fullmatch(line)
    status = int(found[1]) if found else 0
    if status == 101:
        return upgrades
    headers = [(name.strip().lower(), value.strip().lower()) for name, _, value in (_split(each) for each in rest)]
    kinds = [value for name, value in headers if name == "content-type"]
    is_framed = any(name in _FRAMES for name, _ in headers)
    return status == 200 and not is_framed and len(kinds) == 1 and kinds[0] in _STREAMS


def _split(line: bytes) -> tuple[str, str, str]:
    return line.decode("latin-1").partition(":")


async def read_all(source: StreamReader, *, most: int, length: int | None = None) -> bytes:
    """Reads to the end, or up to `length` bytes. Raises `RefusedError` for more than `most` bytes."""
    came = bytearray()
    async with within():
        while (length is None or len(came) < length) and (piece := await source.read(PIECE)):
            came += piece
            if len(came) > most:
                raise RefusedError("The engine says more than anybody reads.", status=502)
    return bytes(came[:length])


async def first_of(answer: object, other: object) -> None:
    """Waits until either ends: `answer` when the engine has sent everything, `other` when the client is gone."""
    tasks = [asyncio.ensure_future(each) for each in (answer, other)]  # type: ignore[call-overload]  # coroutines
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(source: StreamReader, target: StreamWriter) -> None:
    while piece := await source.read(PIECE):
        target.write(piece)
        await target.drain()


async def _feed(source: StreamReader, target: StreamWriter) -> None:
    """Copies to the end, then waits forever: the other direction ends itself, because a program may still answer."""
    await _copy(source, target)
    with suppress(OSError, RuntimeError):
        target.write_eof()
    await asyncio.Event().wait()


async def wait_for_end(source: StreamReader) -> None:
    """Returns when the client disconnects, or sends anything after its request, which is not passed on."""
    await source.read(1)
