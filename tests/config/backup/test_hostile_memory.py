"""A memory in an archive that would write outside its volume is refused."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from tests.config.backup.conftest import Run
from tests.config.backup.files import FILES
from tests.config.backup.rows import photograph
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


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
    "no tar": b"x" * 5000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_memory_that_would_write_elsewhere_is_refused(
    what: str, volumes: list[str], archive: Path, engine: MemoryEngine, run: Run
) -> None:
    engine.states[volumes[1]] = HOSTILE[what]
    run("backup", archive, "--with-memory")
    before = photograph(), dict(engine.states)
    with pytest.raises(CommandError, match="contains entries that no agent can have created"):
        run("restore", archive, "--with-memory", "--replace")
    assert (photograph(), engine.states) == before
