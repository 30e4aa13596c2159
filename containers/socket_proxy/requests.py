"""Reads an HTTP request strictly: anything that two parsers could interpret differently is refused.

There is one request per connection, and the proxy writes a new head for the engine, so that nothing a client sends can
become a second request.
"""

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

HEAD_SIZE = 16 * 1024
PIECE = 64 * 1024
_LINE = re.compile(rb"(GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS) (/[\x21-\x7e]*) HTTP/1\.([01])")
_HEADER = re.compile(rb"([A-Za-z0-9-]+):[ \t]*([\x20-\x7e\t]*?)[ \t]*")
_TARGET = re.compile(r"/[A-Za-z0-9._:/@-]*", re.ASCII)
_LENGTH = re.compile(r"0|[1-9]\d{0,14}", re.ASCII)
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}\r\n")
_MOST_PARAMETERS = 16
_TYPES = {"application/json", "application/x-tar", "application/tar", "text/plain", "application/octet-stream"}


class RefusedError(Exception):
    """The request is not let through. The message is a sentence that says why."""

    def __init__(self, reason: str, *, status: int = 403) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True, kw_only=True)
class Request:
    method: str
    path: str
    params: dict[str, str]
    content_type: str
    length: int | None
    """Bytes of the body, or None if it is chunked."""
    upgrades: bool
    is_plain: bool
    """The request uses HTTP/1.0: the answer is not chunked, and ends with the connection."""

    @property
    def has_body(self) -> bool:
        return self.length is None or self.length > 0

    def head(self, *, length: int | None) -> bytes:
        """Returns the head for the engine, with a body of this many bytes, or None for chunks."""
        query = f"?{urlencode(self.params)}" if self.params else ""
        version = "1.0" if self.is_plain else "1.1"
        lines = [f"{self.method} {self.path}{query} HTTP/{version}", "Host: docker"]
        if length is None:
            lines.append("Transfer-Encoding: chunked")
        elif length or self.method != "GET":
            lines.append(f"Content-Length: {length}")
        if length is None or length:
            lines.append(f"Content-Type: {self.content_type or 'application/octet-stream'}")
        # An engine that refuses an upgrade reads another request from the connection, unless it is told not to.
        lines += ["Connection: Upgrade, close", "Upgrade: tcp"] if self.upgrades else ["Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def read_request(reader: StreamReader) -> Request | None:
    """Returns the request, or None if the client has disconnected. Raises `RefusedError`."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except IncompleteReadError:
        return None
    except LimitOverrunError:
        raise RefusedError("The head of the request is too long.", status=431) from None
    line, *rest = head[:-4].split(b"\r\n")
    found = _LINE.fullmatch(line)
    if found is None:
        raise RefusedError("The first line is no request that Berth sends.", status=400)
    return _understand(found, _read_headers(rest))


def _understand(line: re.Match[bytes], headers: dict[str, str]) -> Request:
    path, _, query = line[2].decode().partition("?")
    if not _TARGET.fullmatch(path) or {"", ".", ".."} & set(path.split("/")[1:]):
        raise RefusedError("The path is none that Berth asks for.")
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type and content_type not in _TYPES:
        raise RefusedError("The content is of no kind that Berth sends.", status=415)
    connection = headers.get("connection", "").lower()
    return Request(
        method=line[1].decode(),
        path=path,
        params=_read_params(query),
        content_type=content_type,
        length=_read_length(headers),
        upgrades=connection == "upgrade" and headers.get("upgrade", "").lower() == "tcp",
        is_plain=line[3] == b"0",
    )


def _read_headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        name = found[1].decode().lower() if found else ""
        if found is None or name in headers or name == "expect":
            raise RefusedError("A header is written in a way that Berth does not use.", status=400)
        headers[name] = found[2].decode()
    return headers


def _read_length(headers: dict[str, str]) -> int | None:
    encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if encoding is not None:
        if encoding.lower() != "chunked" or length is not None:
            raise RefusedError("The length of the body is said in two ways.", status=400)
        return None
    if length is not None and not _LENGTH.fullmatch(length):
        raise RefusedError("The length of the body is no number.", status=400)
    return int(length or 0)


def _read_params(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise RefusedError("The parameters cannot be read.", status=400) from None
    params = dict(pairs)
    # The engine compares parameter names exactly, and takes the first of two values.
    if len(params) != len(pairs):
        raise RefusedError("A parameter is there twice.", status=400)
    return params


async def read_body(reader: StreamReader, request: Request, *, most: int) -> bytes:
    """Returns the whole body. Raises `RefusedError` if it is longer than `most` bytes."""
    if request.length is None or request.length > most:
        raise RefusedError("The body is longer than any that Berth sends.", status=413)
    return await reader.readexactly(request.length)


async def pass_body(reader: StreamReader, writer: StreamWriter, request: Request) -> None:
    """Passes the body on with new framing. Raises `RefusedError` for incomplete chunks."""
    if request.length is not None:
        await _pass_bytes(reader, writer, request.length)
        return
    while size := await _read_size(reader):
        writer.write(f"{size:x}\r\n".encode())
        await _pass_bytes(reader, writer, size)
        await _read_mark(reader, "A chunk does not end where it says.")
        writer.write(b"\r\n")
    await _read_mark(reader, "Something follows the last chunk.")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def read_chunks(reader: StreamReader, *, most: int) -> bytes:
    """Returns a whole chunked body. Raises `RefusedError` if it is longer than `most` bytes or incomplete."""
    came = bytearray()
    while size := await _read_size(reader):
        if len(came) + size > most:
            raise RefusedError("The body is longer than any that anybody reads.", status=502)
        came += await reader.readexactly(size)
        await _read_mark(reader, "A chunk does not end where it says.")
    await _read_mark(reader, "Something follows the last chunk.")
    return bytes(came)


async def _read_mark(reader: StreamReader, otherwise: str) -> None:
    if await reader.readexactly(2) != b"\r\n":
        raise RefusedError(otherwise, status=400)


async def _read_size(reader: StreamReader) -> int:
    line = await reader.readuntil(b"\r\n")
    if not _SIZE.fullmatch(line):
        raise RefusedError("The size of a chunk is no number.", status=400)
    return int(line, 16)


async def _pass_bytes(reader: StreamReader, writer: StreamWriter, count: int) -> None:
    while count:
        piece = await reader.read(min(count, PIECE))
        if not piece:
            raise IncompleteReadError(b"", count)
        count -= len(piece)
        writer.write(piece)
        await writer.drain()
