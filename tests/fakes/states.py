"""The volume of an agent's state as a tar archive, like an engine's."""

import io
import tarfile
from collections.abc import Iterable, Mapping


def pack_state(files: Mapping[str, str], *, user: int = 10001) -> bytes:
    """Returns an archive of `data` with these files in it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        root = tarfile.TarInfo("data/")
        root.type, root.mode, root.uid, root.gid = tarfile.DIRTYPE, 0o750, user, user
        archive.addfile(root)
        for name, text in sorted(files.items()):
            entry = tarfile.TarInfo(f"data/{name}")
            entry.size, entry.mode, entry.uid, entry.gid = len(text.encode()), 0o600, user, user
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def unpack_state(pieces: Iterable[bytes]) -> dict[str, str]:
    """Returns the files in it, by their names below `data`."""
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        files = {member.name.removeprefix("data/"): archive.extractfile(member) for member in archive if member.isreg()}
        return {name: content.read().decode() for name, content in files.items() if content}
