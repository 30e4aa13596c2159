"""Serves the control side: each request is a line with a JSON object, and so is each answer.

This module listens on a Unix socket, `secured` on a network.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from gateway.control.readiness import ReadinessGate

LARGEST = 16 * 1024 * 1024
"""The most bytes of a message, enough for the entries of several thousand projects."""

logger = logging.getLogger(__name__)


Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter, float | None], Awaitable[None]]
"""Answers lines until the client sends no more, or sends none for so many seconds (None: no limit). Raises OSError."""


async def speak(
    gate: ReadinessGate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent_for: float | None = None
) -> None:
    with suppress(asyncio.IncompleteReadError):
        while line := await asyncio.wait_for(_read_line(reader), silent_for):
            writer.write(await _answer(gate, line))
            await asyncio.wait_for(writer.drain(), silent_for)


async def serve_control(socket: Path, gate: ReadinessGate) -> asyncio.Server:
    """Makes the socket accessible to the gateway's own user only. Replaces a socket left by an earlier process."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await speak(gate, reader, writer)
        writer.close()

    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    socket.unlink(missing_ok=True)
    before = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(serve, socket, limit=LARGEST)
    finally:
        os.umask(before)


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """Returns b"" at the end, and for a line that is too long or incomplete."""
    try:
        line = await reader.readline()
    except ValueError:
        return b""
    return line if line.endswith(b"\n") else b""


async def _answer(gate: ReadinessGate, line: bytes) -> bytes:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        answer = {"ok": False, "error": "The message is not JSON."}
    else:
        try:
            answer = await gate.answer(message)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - the connection serves all commands
            logger.error("A command failed: %s", type(error).__name__)  # noqa: TRY400 - a trace could show a credential
            answer = {"ok": False, "error": "The gateway has failed while handling this message."}
    return json.dumps(answer).encode() + b"\n"
