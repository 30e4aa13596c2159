"""Finds the end of a request in what a client has sent so far, so that no thread ever waits for the rest of one.

It judges nothing: gunicorn's parser gets exactly these bytes and decides whether they are a request. Bytes that cannot
be understood here count as complete, so that the parser refuses them at once. If the parser accepts them, the
connection still ends with the answer: the rest of a request must not be read as another one.
"""

import re

HEAD_LIMIT = 32 * 1024
"""Bytes of the request line and the headers."""

CHUNK_LINE_LIMIT = 256
"""Bytes of the line that tells the size of a chunk."""

_END = b"\r\n\r\n"
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_ANY_ENCODING = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*(?=\r\n)", re.IGNORECASE)
_ANY_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*0*(\d{1,19})[ \t]*(?=\r\n)", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nexpect[ \t]*:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")


class TooLargeError(Exception):
    """The head or the body is over its limit; `status` is the HTTP status that says so."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Framing:
    """The end of one request in a buffer that grows. Each call looks at new bytes only."""

    def __init__(self, *, body_limit: int) -> None:
        self.has_head = False
        self.awaits_continue = False
        """The client sends no body before it is told to continue (RFC 9110, section 10.1.1)."""
        self.is_refused = False
        """The connection cannot be used again: the declared body is over the limit and not waited for, or the end of
        the request is uncertain."""
        self._body_limit = body_limit
        self._searched = 0
        self._end = 0
        self._chunks: _Chunks | None = None

    def find_end(self, received: bytearray) -> int | None:
        """Returns the length of the request, or None while some of it is missing. Raises `TooLargeError`."""
        if not self.has_head:
            self._find_head(received)
            if not self.has_head:
                return None
        if self._chunks is not None:
            end = self._chunks.find_end(received)
            self.is_refused = self._chunks.is_odd
            return end
        return self._end if len(received) >= self._end else None

    def _find_head(self, received: bytearray) -> None:
        found = received.find(_END, max(0, self._searched - 3))
        head_end = len(received) if found < 0 else found + len(_END)
        if self._has_bare_line_feed(received, head_end):
            self.has_head, self._end, self.is_refused = True, len(received), True
        elif found >= 0 and head_end <= HEAD_LIMIT:
            self.has_head = True
            self._read_head(bytes(received[:head_end]))
        elif head_end > HEAD_LIMIT:
            raise TooLargeError(431)
        self._searched = len(received)

    def _has_bare_line_feed(self, received: bytearray, end: int) -> bool:
        """A head with other line ends never ends as it should, so it is refused without waiting."""
        return _BARE_LINE_FEED.search(received, self._searched, end) is not None

    def _read_head(self, head: bytes) -> None:
        self._end = len(head)
        if encodings := len(_ANY_ENCODING.findall(head)):
            # With any other encoding the end of the body is unknown, so nothing waits for it.
            self.is_refused = encodings != 1 or not _CHUNKED.search(head)
            self._chunks = None if self.is_refused else _Chunks(len(head), limit=self._body_limit)
        elif declared := len(_ANY_LENGTH.findall(head)):
            lengths = _LENGTH.findall(head)
            length = int(lengths[0]) if declared == len(lengths) == 1 else None
            self.is_refused = length is None or length > self._body_limit
            self._end += 0 if self.is_refused or length is None else length
        self.awaits_continue = not self.is_refused and bool(_EXPECT.search(head))


class _Chunks:
    """The end of a chunked body (RFC 9112, section 7.1)."""

    def __init__(self, begin: int, *, limit: int) -> None:
        self._begin = self._at = begin
        self._left = limit
        self.is_odd = False
        """Whether the end is a guess."""

    def find_end(self, received: bytearray) -> int | None:
        while (line_end := received.find(b"\r\n", self._at, self._at + CHUNK_LINE_LIMIT)) >= 0:
            line = _CHUNK_LINE.fullmatch(received, self._at, line_end)
            has_ended = self._at == self._begin or received[self._at - 2 : self._at] == b"\r\n"
            if line is None or not has_ended:
                self.is_odd = True
                return len(received)
            size = int(line[1], 16)
            if not size:
                return self._find_end_of_trailers(received, line_end)
            self._left -= size
            if self._left < 0:
                raise TooLargeError(413)
            self._at = line_end + size + 4
        # The parser refuses a line that does not end.
        self.is_odd = len(received) > self._at + CHUNK_LINE_LIMIT
        return len(received) if self.is_odd else None

    def _find_end_of_trailers(self, received: bytearray, line_end: int) -> int | None:
        end = received.find(_END, line_end)
        if end < 0 and len(received) > line_end + HEAD_LIMIT:
            raise TooLargeError(431)
        return None if end < 0 else end + len(_END)
