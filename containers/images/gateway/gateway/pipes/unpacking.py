"""What unpacks answers. One that is cut off is none: the library asks that of `deflate`, and not of `gzip`."""

import zlib
from typing import Any

from aiohttp.http_exceptions import ContentEncodingError


class _Unpacker:
    """As `zlib.decompressobj` makes it."""

    def __init__(self, **options: Any) -> None:
        self._unpacker = zlib.decompressobj(**options)
        self._is_begun = False

    def decompress(self, data: Any, max_length: int = 0, /) -> bytes:
        self._is_begun = self._is_begun or len(data) > 0
        return self._unpacker.decompress(data, max_length)

    def flush(self, *_length: int) -> bytes:
        """At the end of what has come. Raises ContentEncodingError where it is not the end of what was packed."""
        if self._is_begun and not self._unpacker.eof:
            raise ContentEncodingError("It breaks off.")
        return b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unpacker, name)


class Unpacking:
    """As the library asks for it: `zlib` with unpackers of our own."""

    @staticmethod
    def decompressobj(**options: Any) -> _Unpacker:
        return _Unpacker(**options)

    def __getattr__(self, name: str) -> Any:
        return getattr(zlib, name)
