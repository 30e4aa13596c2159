"""A root file system of 2 MB around a static busybox, for agents of tests: images without a registry."""

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
AGENT_USER = 10001
DATA_MODE = 0o777
"""The mode of /data: everyone may write there, so that an agent's user need not be given its new volume."""

_DIRECTORIES = (
    ("bin", 0o755, 0),
    ("tmp", 0o1777, 0),
    ("etc", 0o755, 0),
    ("run", 0o755, 0),
    ("run/secrets", 0o500, AGENT_USER),
)


def pack_root(programs: Mapping[str, str], *, applets: Iterable[str], data_mode: int = DATA_MODE) -> bytes:
    """Returns a tar archive with the programs, scripts for /bin/sh, at the top,
    and busybox under each applet's name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, mode, owner in (*_DIRECTORIES, ("data", data_mode, AGENT_USER)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
            archive.addfile(entry)
        _add(archive, "bin/busybox", BUSYBOX.read_bytes())
        for name, script in programs.items():
            _add(archive, name, script.encode())
        for applet in applets:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
