"""What the head of a request may be. Pure."""

from aiohttp import HttpVersion10, HttpVersion11, web

from gateway.rules.refusals import RefusedError, Why

LONGEST_PATH = 8000
ONCE = ("host", "content-length", "transfer-encoding", "content-type", "content-encoding", "expect")
"""Headers that must not come twice: two readers could take two of them."""
VERSIONS = (HttpVersion10, HttpVersion11)
"""The parser takes 0.9 and 2.0 too, which nobody speaks by lines of text, and of which the server knows no framing."""


def check_head(request: web.BaseRequest) -> None:
    """Raises RefusedError for what no client sends, and what two readers could understand in two ways."""
    if request.version not in VERSIONS:
        raise RefusedError(Why.BAD, "Bad Request: HTTP/1.1 is spoken here")
    path = request.raw_path
    if not path.startswith("/") or len(path) > LONGEST_PATH or not path.isascii() or not path.isprintable():
        raise RefusedError(Why.BAD, "Bad Request")
    if any(len(request.headers.getall(name, ())) > 1 for name in ONCE):
        raise RefusedError(Why.BAD, "Bad Request: a header came twice")
    if request.headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked":
        raise RefusedError(Why.BAD, "Bad Request: a compressed request cannot be read")
    if "Content-Length" in request.headers and "Transfer-Encoding" in request.headers:
        raise RefusedError(Why.BAD, "Bad Request: the length is given in two ways")
