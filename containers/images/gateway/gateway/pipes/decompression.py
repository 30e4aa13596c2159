"""Decompressors that raise an error for a truncated answer. aiohttp checks that for `deflate` but not for `gzip`."""

import zlib
from typing import Any

from aiohttp.http_exceptions import ContentEncodingError


class _StrictDecompressor:
    """Has the interface of `zlib.decompressobj`."""

    def __init__(self, **options: Any) -> None:
        self._decompressor = zlib.decompressobj(**options)
        self._is_begun = False

    def decompress(self, data: Any, max_length: int = 0, /) -> bytes:
        self._is_begun = self._is_begun or len(data) > 0
        return self._decompressor.decompress(data, max_length)

    def flush(self, *_length: int) -> bytes:
        """Checks that the compressed data is complete at the end of the answer. Raises ContentEncodingError if not."""
        if self._is_begun and not self._decompressor.eof:
            raise ContentEncodingError("The compressed data is truncated.")
        return b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decompressor, name)


class StrictZlib:
    """Has the interface that aiohttp expects: `zlib` with strict decompressors."""

    @staticmethod
    def decompressobj(**options: Any) -> _StrictDecompressor:
        return _StrictDecompressor(**options)

    def __getattr__(self, name: str) -> Any:
        return getattr(zlib, name)
