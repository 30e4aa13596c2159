"""Packs the program into one file that Python runs. The same program gives the same file, byte for byte, anywhere."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "program"

_FIRST_LINE = b"#!/usr/bin/env python3\n"
_VERSION = re.compile(r'^VERSION = "([0-9.]+)"$', re.MULTILINE)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Packed:
    content: bytes
    version: str
    digest: str


@lru_cache(maxsize=1)
def pack() -> Packed:
    """Packs once in each process, at the first call.

    Nothing is compressed, because versions of the library compress differently and the file would differ between
    machines.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(PROGRAM.rglob("*.py")):
            entry = zipfile.ZipInfo(path.relative_to(PROGRAM).as_posix(), _LONG_AGO)
            entry.external_attr = 0o100644 << 16
            packed.writestr(entry, path.read_bytes())
    content = _FIRST_LINE + buffer.getvalue()
    return Packed(content, _read_version(), hashlib.sha256(content).hexdigest())


def _read_version() -> str:
    found = _VERSION.search((PROGRAM / "berth_cli" / "__init__.py").read_text())
    if found is None:
        raise ValueError("The program of the command line has no version.")
    return found[1]
