"""Questions with files: the files stay on the disk until they are sent, piece by piece."""

import base64
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE_BEGINS = '<file name="'
"""How a text file begins in a question. It ends with </file>."""

PIECE = 48 * 1024  # bytes that are read at once; a multiple of three, so that their base64 has no end


@dataclass(frozen=True)
class Part:
    """An image or a PDF that goes along with a question."""

    path: Path
    mime: str
    name: str
    slot: str = field(default_factory=lambda: f"slot-{secrets.token_hex(16)}")
    """Stands in a document where the base64 of the file belongs. Nobody can guess it."""

    @property
    def address(self) -> str:
        return f"data:{self.mime};base64,{self.slot}"

    @property
    def is_image(self) -> bool:
        return self.mime.startswith("image/")


@dataclass(frozen=True)
class Question:
    text: str
    """For the model."""
    remembered: str
    """The same for later, where files are but named."""
    parts: tuple[Part, ...] = ()
    seconds: float = 0.0
    """What it took to read its files, of the time for the answer."""


class Body:
    """A JSON document with files in it, which can be sent several times."""

    def __init__(self, document: dict[str, Any], parts: Sequence[Part] = ()) -> None:
        rest = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        self._pieces: list[bytes | Path] = []
        for part in parts:
            before, _, rest = rest.partition(part.slot.encode())
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
                while piece := file.read(PIECE):
                    yield base64.b64encode(piece)


def _encoded_length(path: Path) -> int:
    return -(-path.stat().st_size // 3) * 4
