"""Questions with files. The files stay on disk until they are sent, one chunk at a time."""

import base64
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE_BEGINS = '<file name="'
"""The text before the content of a text file in a question. </file> follows the content."""

CHUNK = 48 * 1024  # bytes read at once; a multiple of three, so that the base64 of a chunk has no padding


@dataclass(frozen=True)
class Part:
    """An image or PDF sent with a question."""

    path: Path
    mime: str
    name: str
    placeholder: str = field(default_factory=lambda: f"slot-{secrets.token_hex(16)}")
    """Marks the place of the file's base64 in the request. It is random, so that no user can write it in a message."""

    @property
    def address(self) -> str:
        return f"data:{self.mime};base64,{self.placeholder}"

    @property
    def is_image(self) -> bool:
        return self.mime.startswith("image/")


@dataclass(frozen=True)
class Question:
    text: str
    """The text for the model."""
    remembered: str
    """The text to remember. It names images and PDFs, and shortens text files."""
    parts: tuple[Part, ...] = ()
    seconds: float = 0.0
    """How long reading the files took. It counts towards the time for the answer."""


class Body:
    """A JSON request body that contains files. It can be read several times, for retries."""

    def __init__(self, document: dict[str, Any], parts: Sequence[Part] = ()) -> None:
        rest = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        self._pieces: list[bytes | Path] = []
        for part in parts:
            before, _, rest = rest.partition(part.placeholder.encode())
            self._pieces += [before, part.path]
        self._pieces.append(rest)

    @property
    def length(self) -> int:
        return sum(len(each) if isinstance(each, bytes) else _encoded_length(each) for each in self._pieces)

    async def read(self) -> AsyncIterator[bytes]:
        for each in self._pieces:
            if isinstance(each, bytes):
                yield each
                continue
            with each.open("rb") as file:
                while piece := file.read(CHUNK):
                    yield base64.b64encode(piece)


def _encoded_length(path: Path) -> int:
    return -(-path.stat().st_size // 3) * 4
