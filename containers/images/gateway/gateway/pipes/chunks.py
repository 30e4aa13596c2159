"""Recognises chunks of an answer that arrive whole, so that they can be passed on unchanged. Pure.

Nearly all chunks of a stream arrive like this. The library's parser needs eight calls to read one and unpack it.
"""

from functools import lru_cache

from aiohttp.streams import StreamReader

_MAX_DIGITS = 8
"""The most digits of a chunk's length."""
_NO_HEADS = (b"\0", b"\0")
"""What no chunk begins with."""


def payload_of_chunk(data: bytes) -> bytes:
    """Returns the content of one whole chunk without extensions whose content ends with a line feed.

    Returns b"" for any other data.
    """
    heads = _heads_of(len(data))
    return data[len(heads[0]) : -2] if data.startswith(heads) and data.endswith(b"\n\r\n") else b""


@lru_cache(maxsize=4096)
def _heads_of(size: int) -> tuple[bytes, bytes]:
    """Returns the head that a chunk of this size, with its head and its end, begins with: in both cases of letters."""
    for digits in range(1, _MAX_DIGITS + 1):
        content = size - digits - len(b"\r\n\r\n")
        if content > 0 and len(head := b"%x" % content) == digits:
            return head + b"\r\n", head.upper() + b"\r\n"
    return _NO_HEADS


def is_between_chunks(content: StreamReader | None, data: bytes) -> bool:
    """Whether the data, which the parser has just read, ends exactly at the end of a chunk of this answer.

    Requires that the chunk's content ends with a line feed, because the head of a chunk never ends like that.
    """
    if content is None or content.is_eof() or not data.endswith(b"\n\r\n"):
        return False
    ends = content._http_chunk_splits  # noqa: SLF001 - there is no public way to find the ends
    return ends[-1] == content.total_bytes if ends else False
