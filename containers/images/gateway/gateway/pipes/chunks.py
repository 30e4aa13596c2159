"""Recognises chunks of an answer that arrive whole, so that they can be passed on unchanged. Pure.

Nearly all chunks of a stream arrive like this. The library's parser needs eight calls to read one and unpack it.
"""

from aiohttp.streams import StreamReader

_DIGITS = b"0123456789abcdefABCDEF"
_MAX_DIGITS = 8
"""The most digits of a chunk's length."""


def payload_of_chunk(data: bytes) -> bytes:
    """Returns the content of one whole chunk without extensions whose content ends with a line feed.

    Returns b"" for any other data.
    """
    if not data.endswith(b"\n\r\n"):
        return b""
    head = data.find(b"\r\n", 1, _MAX_DIGITS + 2)
    if head < 0 or data[:head].strip(_DIGITS):
        return b""
    return data[head + 2 : -2] if int(data[:head], 16) == len(data) - head - 4 else b""


def is_between_chunks(content: StreamReader | None, data: bytes) -> bool:
    """Whether the data, which the parser has just read, ends exactly at the end of a chunk of this answer.

    Requires that the chunk's content ends with a line feed, because the head of a chunk never ends like that.
    """
    if content is None or content.is_eof() or not data.endswith(b"\n\r\n"):
        return False
    ends = content._http_chunk_splits  # noqa: SLF001 - there is no public way to find the ends
    return ends[-1] == content.total_bytes if ends else False
