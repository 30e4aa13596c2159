"""The memories of agents in an archive: one member for each agent, streamed, one at a time."""

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import IO, Any, cast

from config.backup.archive import ArchiveReader, ArchiveWriter, Member
from config.backup.errors import BackupError
from config.backup.manifest import Manifest, Memory
from containers.errors import EngineError
from projects.rules.sizes import MIB
from projects.services.inventory.memory import KeptMemory, list_memories, read_memory, require_images, write_memory

Report = Callable[[str], None]

TRIES = 5
"""How often a memory is read if it changes during the reading."""


class _NotKeptError(Exception):
    """The copy is discarded."""


def write_memories(writer: ArchiveWriter, *, report: Report) -> list[Memory]:
    """Adds all memories to the archive. Raises `BackupError`."""
    try:
        kept = list_memories()
        written = []
        for number, each in enumerate(kept, start=1):
            report(f"… Memory of {each.key} ({number} of {len(kept)})")
            if (memory := _write(writer, each, f"memory/{number}.tar", report)) is not None:
                written.append(memory)
    except EngineError as error:
        raise BackupError(f"The agents' memories cannot be read: {error} Nothing was written.") from None
    return written


def _write(writer: ArchiveWriter, kept: KeptMemory, name: str, report: Report) -> Memory | None:
    """Copies a memory, and reads it again to check that nothing changed in between. The last attempt is kept even if
    something did, and is marked as not settled. Returns None if the memory is too large or no longer exists.
    """
    for attempt in range(1, TRIES + 1):
        settled: bool | None = None
        with suppress(_NotKeptError), writer.member(name) as member:
            settled = _copy(kept, member, is_last=attempt == TRIES)
        if member.size == 0:
            report(f"  The memory of {kept.key} no longer exists: the project was deleted meanwhile.")
            return None
        if kept.most and member.size > kept.most:
            most = f"{kept.most // MIB} MiB"
            report(f"  The memory of {kept.key} is NOT in the archive: it would be more than {most} there.")
            report("  On the disk it takes much less, because its agent has files with large holes.")
            return None
        if settled is not None:
            break
    if not settled:
        report(f"  The agent of {kept.key} writes all the time, so the copy of its memory may be inconsistent.")
    return Memory(
        member=name, size=member.size, sha256=member.sha256, key=kept.key, volume=kept.volume,
        labels=dict(kept.labels), image=kept.image, settled=bool(settled),
    )  # fmt: skip


def _copy(kept: KeptMemory, member: Member, *, is_last: bool) -> bool:
    """Returns whether the copy is consistent. Raises `_NotKeptError` if it is not and there is another attempt, or if
    the memory is gone or too large.
    """
    for piece in read_memory(kept):
        member.write(piece)
        if kept.most and member.size > kept.most:
            raise _NotKeptError
    is_whole = member.size > 0 and member.sha256 == _digest(kept)
    if member.size == 0 or not (is_whole or is_last):
        raise _NotKeptError
    return is_whole


def _digest(kept: KeptMemory) -> str:
    """Reads hardly more than `most` bytes. The digests then differ, because the memory has grown since the first
    reading.
    """
    digest, size = hashlib.sha256(), 0
    for piece in read_memory(kept):
        digest.update(piece)
        size += len(piece)
        if kept.most and size > kept.most:
            break
    return digest.hexdigest()


def check_memories(reader: ArchiveReader, manifest: Manifest) -> None:
    """Raises `BackupError` if a memory could write outside its volume, or if the engine lacks an image."""
    for memory in manifest.memory or []:
        content = cast("IO[bytes]", reader.content(memory.member))
        try:
            with tarfile.open(fileobj=content, mode="r|") as archive:
                safe = all(_is_safe(entry) for entry in archive)
        except (tarfile.TarError, EOFError):
            safe = False
        if not safe:
            raise BackupError(
                f"The memory of {memory.key} contains entries that no agent can have created. Use another backup."
            )
    try:
        require_images(_kept(memory) for memory in manifest.memory or [])
    except EngineError as error:
        raise BackupError(f"{error} Nothing was changed.") from None


def _is_safe(entry: tarfile.TarInfo) -> bool:
    """Returns whether the entry is a file, directory, link or pipe below the directory of the volume."""
    inside = _is_inside(entry.name) and (not entry.islnk() or _is_inside(entry.linkname))
    return inside and (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk() or entry.isfifo())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and path.parts[:1] == ("data",)


def restore_memories(
    reader: ArchiveReader, manifest: Manifest, *, done: list[str], note: Callable[[str], None], report: Report
) -> None:
    """Restores the memories into volumes, replacing the existing ones. Skips the agents in `done`.

    Raises `BackupError`.
    """
    memories = manifest.memory or []
    for number, memory in enumerate(memories, start=1):
        if memory.key in done:
            continue
        report(f"… Memory of {memory.key} ({number} of {len(memories)})")
        try:
            write_memory(_kept(memory), _pieces(reader, memory))
        except EngineError as error:
            raise BackupError(f"The memory of {memory.key} cannot be written: {error} Run this again.") from None
        note(memory.key)


def _pieces(reader: ArchiveReader, memory: Memory) -> Iterator[bytes]:
    content: Any = reader.content(memory.member)
    return iter(lambda: content.read(64 * 1024), b"")


def _kept(memory: Memory) -> KeptMemory:
    return KeptMemory(key=memory.key, volume=memory.volume, labels=memory.labels, image=memory.image)
