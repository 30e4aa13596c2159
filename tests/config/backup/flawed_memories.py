"""Archives of an agent's memory that cannot be restored: cut off, damaged, or with entries that no agent can create."""

import io
import tarfile
from typing import Any

from tests.config.backup.files import FILES
from tests.fakes.states import pack_state

LONG = pack_state(FILES | {"zeros": "\0" * 20_000, "zz": "the last one", "/".join(["d" * 60] * 5): "far down"})
END = LONG[: len(LONG.rstrip(b"\0")) + -len(LONG.rstrip(b"\0")) % 512 + 1024]
"""As Docker ends an archive: without filling a record."""


FLAWED: dict[str, bytes] = {
    "in a header": END[:700],
    "in a file": END[: END.index(b"b" * 1000) + 500],
    "in a file, at a block": END[: (END.index(b"b" * 1000) // 512 + 2) * 512],
    "in a file of zeros": END[: END.index(b"data/zeros") + 512 + 10_240],
    "behind an entry": END[:-1024],
    "one block short": END[:-512],
    "entry overwritten": END.replace(b"data/notes/a", b"xata/notes/a"),
    "header not readable": END[:512] + b"x" * 512 + END[1024:],
    "more behind the end": END + b"x" * 512,
    "no directory": END[512:],
    "nothing but zeros": bytes(10_240),
    "no tar": b"x" * 5000,
}


def hostile(**header: Any) -> bytes:
    """An agent's memory with one more member that has these fields in its header."""
    buffer = io.BytesIO(pack_state(FILES))
    with tarfile.open(fileobj=buffer, mode="a") as found:
        entry = tarfile.TarInfo("data/x")
        for field, value in header.items():
            setattr(entry, field, value)
        found.addfile(entry)
    return buffer.getvalue()


HOSTILE = {
    "above": hostile(name="data/../../etc/passwd"),
    "beside": hostile(name="etc/passwd"),
    "absolute": hostile(name="/data/x"),
    "device": hostile(type=tarfile.BLKTYPE),
    "terminal": hostile(type=tarfile.CHRTYPE),
    "link out": hostile(type=tarfile.LNKTYPE, linkname="etc/x"),
}
