"""Answers that no honest server gives, as pieces of bytes. `SHAPES` names them all.

A shape is made from the JSON that an honest server would have answered. Where it never ends, the server sends it until
the other side leaves. An empty piece stands for a pause.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import repeat

Pieces = Iterator[bytes]
Shape = Callable[[bytes], Pieces]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MEGABYTE = 1024 * 1024
BOMB = bytes(50 * MEGABYTE)
GZIPPED, DEFLATED = gzip.compress(BOMB), zlib.compress(BOMB)
PAUSE = b""


def with_length(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _sent(answer: Callable[[bytes], bytes]) -> Shape:
    return lambda good: iter((answer(good),))


def _body(body: bytes) -> Shape:
    return _sent(lambda good: with_length(body))


def _encoded(name: bytes, body: Callable[[bytes], bytes]) -> Shape:
    return _sent(lambda good: with_length(body(good), HEAD + b"Content-Encoding: " + name + b"\r\n"))


def _endless(head: bytes, piece: bytes) -> Shape:
    def pieces(good: bytes) -> Pieces:
        yield head
        yield from repeat(piece)

    return pieces


def _slowly(data: Callable[[bytes], bytes], *, after: bytes = b"") -> Shape:
    def pieces(good: bytes) -> Pieces:
        yield after
        for byte in data(good):
            yield bytes([byte])
            yield PAUSE
        yield from repeat(PAUSE)

    return pieces


def _then_silence(data: Callable[[bytes], bytes]) -> Shape:
    def pieces(good: bytes) -> Pieces:
        yield data(good)
        yield from repeat(PAUSE)

    return pieces


def redirect(location: str, status: int = 302) -> Shape:
    return _sent(lambda good: f"HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())


NEVER_ENDING: dict[str, Shape] = {
    "silence": _then_silence(lambda good: PAUSE),
    "a byte now and then": _slowly(with_length),
    "a byte of the body now and then": _slowly(lambda good: good, after=HEAD + b"Content-Length: 9999\r\n\r\n"),
    "a chunk now and then": _slowly(lambda good: b"".join(b"1\r\n%c\r\n" % byte for byte in good), after=CHUNKED),
    "half, then silence": _then_silence(lambda good: with_length(good)[: -len(good) // 2]),
    "a head, then silence": _then_silence(lambda good: HEAD),
    "huge length": _then_silence(lambda good: HEAD + b"Content-Length: %d\r\n\r\n" % 10**18 + good),
    "length of 5000 digits": _then_silence(lambda good: HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + good),
    "endless headers": _endless(HEAD, b"X-Again: " + b"x" * 1000 + b"\r\n"),
    "endless header": _endless(HEAD + b"X-Long: ", b"x" * 65536),
    "endless status": _endless(b"HTTP/1.1 200 ", b"x" * 65536),
    "endless continues": _endless(b"", b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 100),
    "endless chunks": _endless(CHUNKED, b"10000\r\n" + b"[" * 65536 + b"\r\n"),
    "endless empty chunks": _endless(CHUNKED, b"1\r\n \r\n" * 1000),
    "endless chunk size": _endless(CHUNKED, b"0" * 65536),
    "endless chunk extension": _endless(CHUNKED + b"1;", b"x" * 65536),
    "endless trailers": _endless(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Again: y\r\n" * 1000),
    "endless body": _endless(HEAD + b"\r\n", b" " * 65536),
}

BODIES: dict[str, bytes] = {
    "empty": b"",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"result":' * 50_000 + b"1" + b"}" * 50_000,
    "deep and closed": b"[" * 20_000 + b"]" * 20_000,
    "huge integer": b'{"ok": true, "result": %s}' % (b"9" * 20_000),
    "large integers": b'{"ok": true, "result": {"id": 1e999, "username": %s}}' % (b"9" * 4000),
    "NaN": b'{"ok": true, "result": NaN}',
    "infinity": b'{"ok": true, "result": [-Infinity, 1e400]}',
    "invalid UTF-8": b'{"ok": true, "result": {"username": "\xff\xfe\xc0\x80"}}',
    "UTF-16": '{"ok": true}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"ok": true}',
    "half a pair": b'{"ok": true, "result": {"username": "\\ud800"}}',
    "HTML": b"<html><body>Sign in to the wireless network</body></html>",
    "a text": b'"result"',
    "a list": b"[1, 2]",
    "null": b"null",
    "half a document": b'{"ok": tr',
    "two documents": b'{"ok": true}{"ok": true}',
    "zeros": bytes(1000),
}

COMPRESSED: dict[str, Shape] = {
    "gzip bomb": _encoded(b"gzip", lambda good: GZIPPED),
    "gzip of a gzip bomb": _encoded(b"gzip, gzip", lambda good: gzip.compress(GZIPPED)),
    "deflate bomb": _encoded(b"deflate", lambda good: DEFLATED),
    "chunked gzip bomb": _sent(lambda good: _chunked(GZIPPED, b"Content-Encoding: gzip\r\n")),
    "gzip as transfer": _sent(lambda good: HEAD + b"Transfer-Encoding: gzip\r\n\r\n" + GZIPPED),
    "gzip that nobody asked for": _encoded(b"GZIP", gzip.compress),
    "an unknown compression": _encoded(b"br", lambda good: good),
    "not what it says": _encoded(b"gzip", lambda good: good),
}


def _chunked(body: bytes, header: bytes) -> bytes:
    head = HEAD + b"Transfer-Encoding: chunked\r\n" + header + b"\r\n"
    return head + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"


BROKEN: dict[str, Shape] = {
    "nothing": lambda good: iter(()),
    "truncated": _sent(lambda good: with_length(good)[:-1]),
    "truncated chunk": _sent(lambda good: CHUNKED + b"ff\r\n" + good),
    "chunks without end": _sent(lambda good: CHUNKED + b"%x\r\n" % len(good) + good + b"\r\n"),
    "bad chunk size": _sent(lambda good: CHUNKED + b"-1\r\n" + good),
    "no HTTP": _sent(lambda good: b"SSH-2.0-OpenSSH_9.2p1\r\n"),
    "a TLS alert": _sent(lambda good: b"\x15\x03\x03\x00\x02\x02\x28"),
    "HTTP/2": _sent(lambda good: b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)),
    "a status of letters": _sent(lambda good: b"HTTP/1.1 abc OK\r\n\r\n" + good),
    "status 999": _sent(lambda good: with_length(good, b"HTTP/1.1 999 X\r\n")),
    "status 000": _sent(lambda good: with_length(good, b"HTTP/1.1 000 X\r\n")),
    "early hints": _sent(lambda good: b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n" * 50 + with_length(good)),
    "switching protocols": _sent(lambda good: b"HTTP/1.1 101 X\r\nUpgrade: tcp\r\n\r\n" + good),
    "thousands of headers": _sent(lambda good: HEAD + b"X: y\r\n" * 5000 + b"\r\n" + good),
    "headers that are none": _sent(lambda good: HEAD + b"\x00\x01: \xff\r\n : \r\nno colon\r\n\r\n" + good[:1]),
    "two lengths": _sent(lambda good: with_length(good, HEAD + b"Content-Length: 2\r\n")),
    "cookies": _sent(lambda good: with_length(good[:-1], HEAD + b"Set-Cookie: a=" + b"; =\\" * 4000 + b"\r\n")),
    "to a file": redirect("file:///etc/passwd"),
    "to itself": redirect("", 307),
    "to nowhere": redirect("http://[::bad/\\x00"),
    "to a long address": redirect("http://localhost/" + "a" * 60_000),
    "a choice": redirect("http://localhost:9/", 300),
}

SHAPES: dict[str, Shape] = {
    **NEVER_ENDING,
    **{name: _body(body) for name, body in BODIES.items()},
    **COMPRESSED,
    **BROKEN,
}
