"""What is kept of a project: its newest entry with its version, or the tombstone in its place. Pure."""

from dataclasses import dataclass
from typing import Any

from gateway.entries.entry import Entry, read_entry, read_project
from gateway.entries.fields import EntryError

REMEMBERED = 8
"""Credentials of a project that are remembered as void. Who shows one of them is refused at once."""


@dataclass(frozen=True, slots=True)
class Record:
    project: str
    version: int
    entry: Entry | None
    """None in a tombstone: the project is stopped, suspended or deleted."""
    document: dict[str, Any] | None
    """The entry as it came, for the disk."""
    void: tuple[str, ...] = ()
    """Digests of virtual credentials that counted once."""
    leased: bool = False
    """Of a tombstone: whether the last entry before it needed a lease."""

    @property
    def virtual(self) -> tuple[str, ...]:
        """The digests that count."""
        services = (self.entry.bot, self.entry.provider, self.entry.servers) if self.entry else ()
        return tuple(service.virtual for service in services if service)

    def as_document(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "version": self.version,
            "entry": self.document,
            "void": list(self.void),
            "leased": self.leased,
        }


def follow(before: Record | None, *, project: str, version: int, document: dict[str, Any] | None) -> Record:
    """The record that comes after this one. What counted and counts no more is remembered as void.

    Raises EntryError.
    """
    entry = read_entry(document) if document is not None else None
    new = Record(read_project(project), version, entry, document)
    if before is None:
        return new
    gone = [each for each in (*before.virtual, *before.void) if each not in new.virtual]
    leased = entry is None and (before.entry.leased if before.entry else before.leased)
    return Record(new.project, version, entry, document, tuple(dict.fromkeys(gone))[:REMEMBERED], leased)


def read_record(document: object) -> Record:
    """A record as it came from the disk. Raises EntryError."""
    if not isinstance(document, dict) or not isinstance(document.get("version"), int):
        raise EntryError("A record has a version.")
    entry = document.get("entry")
    void = document.get("void")
    return Record(
        read_project(document.get("project")),
        document["version"],
        read_entry(entry) if entry is not None else None,
        entry,
        tuple(each for each in void if isinstance(each, str)) if isinstance(void, list) else (),
        document.get("leased") is True,
    )
