"""Checks the head of a request: its version, path and framing headers. Pure."""

from aiohttp import HttpVersion10, HttpVersion11, web

from gateway.pipes.head_sizes import LONGEST_HEAD, size_of
from gateway.rules.refusals import RefusedError, Why

LONGEST_PATH = 8000
ONCE = ("host", "content-length", "transfer-encoding", "content-type", "content-encoding", "expect")
"""Headers that must not come twice, because two readers could take different ones."""
VERSIONS = (HttpVersion10, HttpVersion11)
"""The parser also accepts 0.9 and 2.0, which no client sends in this form and whose framing it does not know."""


def check_head(request: web.BaseRequest) -> None:
    """Raises RefusedError for a head that no real client sends, or that two readers could understand differently."""
    check_size(request)
    if request.version not in VERSIONS:
        raise RefusedError(Why.BAD, "Bad Request: only HTTP/1.0 and HTTP/1.1 are supported")
    path = request.raw_path
    if not path.startswith("/") or len(path) > LONGEST_PATH or not path.isascii() or not path.isprintable():
        raise RefusedError(Why.BAD, "Bad Request")
    if any(len(request.headers.getall(name, ())) > 1 for name in ONCE):
        raise RefusedError(Why.BAD, "Bad Request: a header came twice")
    if request.headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked":
        raise RefusedError(Why.BAD, "Bad Request: a compressed request cannot be read")
    if "Content-Length" in request.headers and "Transfer-Encoding" in request.headers:
        raise RefusedError(Why.BAD, "Bad Request: the length is given in two ways")


def check_size(request: web.BaseRequest) -> None:
    """Raises RefusedError for a head that is too long to keep in memory while its request lasts."""
    if size_of(request.raw_headers) > LONGEST_HEAD:
        raise RefusedError(Why.BAD, f"Bad Request: the headers are longer than {LONGEST_HEAD // 1024} KiB")
