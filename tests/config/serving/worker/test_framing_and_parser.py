"""The server and gunicorn's parser always agree on where a request ends: no body is read as a request."""

import pytest

from tests.config.serving.looping import Looping
from tests.config.serving.worker.application import LAST, Site

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\nX: "
LENGTH = b"%d" % (len(SMUGGLED) + 5)

LENGTHS = {
    "leading zeros": b"Content-Length: " + LENGTH.rjust(19, b"0"),
    "many leading zeros": b"Content-Length: " + LENGTH.rjust(40, b"0"),
    "thousands of leading zeros": b"Content-Length: " + LENGTH.rjust(3000, b"0"),
    "digits of Unicode": "Content-Length: ²".encode("latin-1"),
    "a sign": b"Content-Length: +" + LENGTH,
    "an underscore": b"Content-Length: 1_" + LENGTH,
    "a space before the colon": b"Content-Length : " + LENGTH,
    "a tab": b"Content-Length:\t" + LENGTH + b"\t",
    "a form feed": b"Content-Length:\x0c" + LENGTH,
    "a vertical tab": b"Content-Length: " + LENGTH + b"\x0b",
    "a no-break space": b"Content-Length: " + LENGTH + b"\xa0",
    "a NUL": b"Content-Length: " + LENGTH + b"\x00",
    "a list": b"Content-Length: " + LENGTH + b", " + LENGTH,
    "a list of others": b"Content-Length: 0, " + LENGTH,
    "twice": b"Content-Length: " + LENGTH + b"\r\nContent-Length: " + LENGTH,
    "twice, otherwise": b"Content-Length: 0\r\nCONTENT-LENGTH: " + LENGTH,
    "folded": b"Content-Length:\r\n " + LENGTH,
    "folded behind": b"X: y\r\n Content-Length: " + LENGTH,
    "hexadecimal": b"Content-Length: 0x%x" % (len(SMUGGLED) + 5),
    "as a float": b"Content-Length: " + LENGTH + b".0",
    "empty": b"Content-Length:",
    "and chunked": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: chunked",
    "and an identity": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: identity",
    "and no coding": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding:",
    "and chunks with a space": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding : chunked",
    "and chunks of another name": b"Content-Length: " + LENGTH + b"\r\nTransfer_Encoding: chunked",
    "and chunks that are none": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: xchunked",
    "and chunks in a quotation": b"Content-Length: " + LENGTH + b'\r\nTransfer-Encoding: "chunked"',
    "and chunks after a feed": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding:\x0bchunked",
    "and chunks on the next line": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding:\r\n chunked",
}


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
@pytest.mark.parametrize("path", [b"/hello", b"/body"])
def test_bytes_in_a_body_are_no_request(server: Looping, site: Site, path: bytes, version: bytes) -> None:
    """Even if the application does not read the body. It may be refused together with its request."""
    wrong = []
    for name, length in LENGTHS.items():
        head = b"POST " + path + b" HTTP/" + version + b"\r\nHost: x\r\nConnection: keep-alive\r\n" + length
        end_of_chunks = b"0\r\n\r\n"
        body = end_of_chunks + SMUGGLED if b"chunk" in length else SMUGGLED + end_of_chunks
        server.ask(head + b"\r\n\r\n" + body + LAST)
        if "/smuggled" in site.paths:
            wrong.append(name)
            site.paths.clear()
    assert wrong == []


CHUNK_LINES = {
    "leading zeros": b"000000000" + b"%x" % len(SMUGGLED),
    "hundreds of zeros": b"0" * 240 + b"%x" % len(SMUGGLED),
    "a prefix": b"0x%x" % len(SMUGGLED),
    "a sign": b"+%x" % len(SMUGGLED),
    "a space before": b" %x" % len(SMUGGLED),
    "a space behind": b"%x " % len(SMUGGLED),
    "an extension": b"%x;a=b" % len(SMUGGLED),
    "an extension with a line feed": b"%x;a\nb" % len(SMUGGLED),
    "an extension with a return": b"%x;a\rb" % len(SMUGGLED),
    "an underscore": b"0_%x" % len(SMUGGLED),
    "a feed": b"%x\x0c" % len(SMUGGLED),
    "nothing": b"",
    "an extension only": b";a",
}


@pytest.mark.parametrize("path", [b"/first", b"/body"])
def test_bytes_in_a_chunk_are_no_request(server: Looping, site: Site, path: bytes) -> None:
    """The rest is answered, or the connection ends with the answer: no answer belongs to another request."""
    wrong = []
    for name, line in CHUNK_LINES.items():
        head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = server.ask(head + line + b"\r\n" + SMUGGLED + b"\r\n0\r\n\r\n" + LAST)
        is_last_answered = answer.count(b"HTTP/1.1 ") == 2 and answer.endswith(b"/hello")
        if "/smuggled" in site.paths or not (is_last_answered or b"\r\nConnection: close" in answer):
            wrong.append(name)
            site.paths.clear()
    assert wrong == []
