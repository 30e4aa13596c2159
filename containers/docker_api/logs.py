"""Reads lines from Docker's log stream, which carries stdout and stderr in alternating frames."""

import struct
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from containers.agent_reports import parse_time
from containers.docker_api.errors import GARBLED, EngineFailedError, MissingError, is_timeout, translate_errors
from containers.docker_api.silence import read_with_silences
from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import time_limit

SILENCE = 2.0
"""Seconds without a line after which a follower gets an empty one. The engine protocol promises it within 3."""

WHOLE_LIMIT = 10.0
"""Seconds for an answer that is not followed."""

LONGEST_LINE = 16 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEADER = struct.Struct(">BxxxL")
_LONGEST_FRAME = 1024 * 1024

_OF_ENGINE = 3
"""The stream on which the engine itself reports, without a time, that it cannot read a log."""

_OF_NOBODY = -1
"""The pseudo-stream of silences."""

UNREADABLE = "The container engine cannot read the log of the agent now."


class UnreadableLogError(EngineFailedError):
    """The engine answered that it cannot read a log, for example because its node is away or its file is damaged."""


Open = Callable[[dict[str, Any]], requests.Response]


def log_params(*, tail: int | None, since: datetime | None, follow: bool) -> dict[str, Any]:
    return {
        "stdout": 1,
        "stderr": 1,
        "timestamps": 1,
        "follow": int(follow),
        "tail": "all" if tail is None else str(max(tail, 0)),
        **({"since": to_nanoseconds(since)} if since else {}),
    }


def read_chunks(response: requests.Response) -> Iterator[bytes]:
    """Yields the body as it arrives. At its end the connection returns to the pool; stopping early closes it."""
    try:
        while chunk := response.raw.read1(64 * 1024):
            yield chunk
    finally:
        response.close()


def _read_whole(response: requests.Response) -> Iterator[bytes]:
    """Does the same for a body that must be complete within `WHOLE_LIMIT` in total."""
    until = time.monotonic() + WHOLE_LIMIT
    chunks = read_chunks(response)
    while True:
        with time_limit(until - time.monotonic()):
            chunk = next(chunks, b"")
        if not chunk:
            return
        yield chunk


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the lines, each with its time in front, without its line end and cut to `LONGEST_LINE` bytes.

    Yields an empty line for each empty chunk. Raises `UnreadableLogError` if there is nothing but the engine's own
    error message.
    """
    pending: dict[int, bytes] = {}
    complains = is_told = False
    for stream, payload in _split_frames(chunks):
        if stream == _OF_NOBODY:
            yield b""
            continue
        if stream == _OF_ENGINE:
            complains = True
            continue
        is_told = True
        # A long line arrives in several frames with the same time in front. The last of them may lack the line's end.
        begun = pending.pop(stream, b"")
        stamp, _, text = payload.partition(b" ")
        if begun and not begun.startswith(stamp + b" "):
            yield begun
            begun = b""
        line = begun + text if begun else payload
        if payload.endswith(b"\n"):
            yield line[:LONGEST_LINE].rstrip(b"\r\n")
        else:
            pending[stream] = line[:LONGEST_LINE]
    yield from pending.values()
    if complains and not is_told:
        raise UnreadableLogError(UNREADABLE)


def read_lines(response: requests.Response) -> Iterator[bytes]:
    """Yields the lines of an answer that is not followed."""
    with translate_errors():
        yield from split_lines(_read_whole(response))


class Follower:
    """Follows the lines of a container until it ends, with an empty line after each long silence.

    A read that has timed out cannot be continued. The stream is then opened again from the last line on, for which the
    engine reads the whole log.
    """

    def __init__(self, open_stream: Open, *, tail: int | None, since: datetime | None) -> None:
        self._open = open_stream
        self._next_params = log_params(tail=tail, since=since, follow=True)
        self._response = open_stream(self._next_params)
        if tail == 0:
            self._next_params |= {"tail": "all", "since": to_nanoseconds(datetime.now(UTC))}

    def lines(self) -> Iterator[bytes]:
        while True:
            try:
                with translate_errors():
                    yield from self._read()
            except EngineUnavailableError as error:
                if not is_timeout(error.__cause__ or error):
                    raise
            else:
                return
            yield b""
            try:
                self._response = self._open(self._next_params)
            except MissingError:
                return

    def _read(self) -> Iterator[bytes]:
        for line in split_lines(read_with_silences(self._response)):
            if line:
                self._next_params |= {"tail": "all", "since": _after(line.partition(b" ")[0])}
            yield line


def _split_frames(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    buffer = bytearray()
    for chunk in chunks:
        if not chunk:
            yield _OF_NOBODY, b""
        buffer += chunk
        while len(buffer) >= _HEADER.size:
            stream, size = _HEADER.unpack_from(buffer)
            if size > _LONGEST_FRAME:
                raise EngineUnavailableError(GARBLED)
            end = _HEADER.size + size
            if len(buffer) < end:
                break
            yield stream, bytes(buffer[_HEADER.size : end])
            del buffer[:end]


def to_nanoseconds(at: datetime) -> str:
    """Returns the time in the format that the engine accepts."""
    moment = max(at, _EPOCH)  # the engine accepts no earlier time
    return f"{int(moment.timestamp())}.{moment.microsecond:06d}000"


def _after(stamp: bytes) -> str:
    """Returns the time one nanosecond after a line's own, which has nine digits after the point."""
    text = stamp.decode(errors="replace")
    at = parse_time(text)
    if at is None:
        raise EngineUnavailableError(GARBLED)
    nanoseconds = int(text.rstrip("Z").rpartition(".")[2][:9].ljust(9, "0")) + 1
    whole = at.replace(microsecond=0) + timedelta(seconds=nanoseconds // 10**9)
    return f"{int(whole.timestamp())}.{nanoseconds % 10**9:09d}"
