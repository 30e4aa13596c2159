"""Packs credentials into an archive for a container, in which the agent can read them, and only root can write."""

import io
import tarfile
from collections.abc import Mapping


def pack_secrets(secrets: Mapping[str, str], *, group: int) -> bytes:
    """A tar archive with one file for each secret: root's, mode 0440, of the agent's group."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, value in sorted(secrets.items()):
            content = value.encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o440, 0, group
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
