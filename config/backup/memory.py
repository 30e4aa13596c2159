"""The memories of agents in an archive: one member for each agent, streamed, one at a time."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import Any

from config.backup.archive import ArchiveReader, ArchiveWriter, Member
from config.backup.errors import BackupError
from config.backup.manifest import Manifest, Memory
from config.backup.memory_tar import Passing, find_flaw
from containers.errors import EngineError, EngineRefusedError
from projects.rules.sizes import MIB
from projects.services.inventory.memory import KeptMemory, list_memories, read_memory, require_images, write_memory

Report = Callable[[str], None]

TRIES = 5
"""How often a memory is read if it changes during the reading, and as often again if no copy was whole."""

GONE = "no longer exists"
TOO_LARGE = "it would be more than {most} there"


class _NotKeptError(Exception):
    """The copy is discarded. The message says why, as the end of a sentence; empty if another one may be better."""


def write_memories(writer: ArchiveWriter, *, report: Report) -> list[Memory]:
    """Adds all memories to the archive, except those that cannot be copied, which it names. Raises `BackupError`."""
    written: list[Memory] = []
    refused: list[EngineRefusedError] = []
    try:
        kept = list_memories()
        for number, each in enumerate(kept, start=1):
            report(f"… Memory of {each.key} ({number} of {len(kept)})")
            try:
                memory = _write(writer, each, f"memory/{number}.tar", report)
            except EngineRefusedError as error:
                refused.append(error)
                report(f"  The memory of {each.key} is NOT in the archive: {error}")
            else:
                written += [memory] if memory else []
        if refused and len(refused) == len(kept):
            raise refused[0]  # the engine hands out none
    except EngineError as error:
        raise BackupError(f"The agents' memories cannot be read: {error} Nothing was written.") from None
    return written


def _write(writer: ArchiveWriter, kept: KeptMemory, name: str, report: Report) -> Memory | None:
    """Copies a memory, and reads it again to check that nothing changed in between. If something did each time, the
    next whole copy is kept and marked as not settled. Returns None if there is none, or the memory no longer exists.

    Raises `EngineError`.
    """
    why = ""
    for attempt in range(1, 2 * TRIES + 1):
        try:
            with writer.member(name) as member:
                settled = _copy(kept, member, needs_rest=attempt < TRIES)
        except _NotKeptError as error:
            why = str(error)
        except EngineRefusedError:
            if attempt == 2 * TRIES:
                raise
        else:
            if not settled:
                report(f"  The agent of {kept.key} writes all the time, so the copy of its memory may be inconsistent.")
            return _describe(kept, name, member, settled=settled)
        if why == TOO_LARGE:
            break
    _report_missing(kept, why, report)
    return None


def _report_missing(kept: KeptMemory, why: str, report: Report) -> None:
    if why == GONE:
        report(f"  The memory of {kept.key} no longer exists: the project was deleted meanwhile.")
        return
    report(f"  The memory of {kept.key} is NOT in the archive: {why.format(most=f'{kept.most // MIB} MiB')}.")
    if why == TOO_LARGE:
        report("  On the disk it takes much less, because its agent has files with large holes.")


def _describe(kept: KeptMemory, name: str, member: Member, *, settled: bool) -> Memory:
    return Memory(
        member=name, size=member.size, sha256=member.sha256, key=kept.key, volume=kept.volume,
        labels=dict(kept.labels), image=kept.image, settled=settled,
    )  # fmt: skip


def _copy(kept: KeptMemory, member: Member, *, needs_rest: bool) -> bool:
    """Returns whether the copy is consistent. Raises `_NotKeptError` if it cannot be restored, if it is not consistent
    and `needs_rest`, or if the memory is gone or too large.
    """

    def write(piece: bytes) -> None:
        member.write(piece)
        if kept.most and member.size > kept.most:
            raise _NotKeptError(TOO_LARGE)

    with closing(read_memory(kept)) as pieces:
        flaw = find_flaw(Passing(pieces, write))
    if member.size == 0:
        raise _NotKeptError(GONE)
    if flaw:
        raise _NotKeptError(f"{flaw}, at each of {2 * TRIES} attempts")
    is_consistent = member.sha256 == _digest(kept)
    if needs_rest and not is_consistent:
        raise _NotKeptError
    return is_consistent


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


def check_memories(reader: ArchiveReader, manifest: Manifest) -> dict[str, str]:
    """Returns the agents whose memory cannot be restored, as keys, with the reason for each.

    Raises `BackupError` if the engine lacks an image.
    """
    flawed = {}
    for memory in manifest.memory or []:
        if flaw := find_flaw(reader.content(memory.member)):
            flawed[memory.key] = flaw
    try:
        require_images(_kept(memory) for memory in manifest.memory or [] if memory.key not in flawed)
    except EngineError as error:
        raise BackupError(f"{error} Nothing was changed.") from None
    return flawed


def restore_memories(
    reader: ArchiveReader, manifest: Manifest, *, done: Collection[str], note: Callable[[str], None], report: Report
) -> None:
    """Restores the memories into volumes, replacing the existing ones. Skips the agents in `done`.

    Goes on after a memory that the engine refuses. Raises `BackupError`, in that case at the end.
    """
    memories = manifest.memory or []
    refused = []
    for number, memory in enumerate(memories, start=1):
        if memory.key in done:
            continue
        report(f"… Memory of {memory.key} ({number} of {len(memories)})")
        try:
            write_memory(_kept(memory), _pieces(reader, memory))
        except EngineRefusedError as error:
            refused.append(f"The memory of {memory.key} cannot be written: {error}")
            continue
        except EngineError as error:
            raise BackupError(f"The memory of {memory.key} cannot be written: {error} Run this again.") from None
        note(memory.key)
    if refused:
        left = "Run this again, or without --with-memory to restore the rest."
        raise BackupError("\n".join([*refused, f"All other memories are restored. {left}"]))


def _pieces(reader: ArchiveReader, memory: Memory) -> Iterator[bytes]:
    content: Any = reader.content(memory.member)
    return iter(lambda: content.read(64 * 1024), b"")


def _kept(memory: Memory) -> KeptMemory:
    return KeptMemory(key=memory.key, volume=memory.volume, labels=memory.labels, image=memory.image)
