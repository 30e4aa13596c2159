"""Decompressors for answers that fail on a truncated answer; aiohttp checks that for `deflate` but not for `gzip`."""

import zlib
from typing import Any

from aiohttp.http_exceptions import ContentEncodingError


class _Unpacker:
    """Has the interface of `zlib.decompressobj`."""

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
    """Has the interface that aiohttp expects: `zlib` with decompressors of our own."""

    @staticmethod
    def decompressobj(**options: Any) -> _Unpacker:
        return _Unpacker(**options)

    def __getattr__(self, name: str) -> Any:
        return getattr(zlib, name)
