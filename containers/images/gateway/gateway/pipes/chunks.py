"""Chunks of an answer that come as a whole, as nearly all of a stream do: these are passed on as they are. Pure.

The library's parser makes four calls of each, and another four to take out what is in it.
"""

from aiohttp.streams import StreamReader

_DIGITS = b"0123456789abcdefABCDEF"
_LONGEST_HEAD = 8
"""Digits of a chunk's length."""


def text_of_chunk(data: bytes) -> bytes:
    """What is in a chunk, where the data is one chunk that says nothing but its length, and a line's end is the last in
    it. Empty where it is anything else."""
    if not data.endswith(b"\n\r\n"):
        return b""
    head = data.find(b"\r\n", 1, _LONGEST_HEAD + 2)
    if head < 0 or data[:head].strip(_DIGITS):
        return b""
    return data[head + 2 : -2] if int(data[:head], 16) == len(data) - head - 4 else b""


def is_between_chunks(content: StreamReader | None, data: bytes) -> bool:
    """Whether a chunk of this answer has ended with the data, which the parser has just seen, and nothing has come of
    the next one. A line's end is the last that the chunk holds, as it is of no chunk's head."""
    if content is None or content.is_eof() or not data.endswith(b"\n\r\n"):
        return False
    ends = content._http_chunk_splits  # noqa: SLF001 - nothing else tells it
    return ends[-1] == content.total_bytes if ends else False
