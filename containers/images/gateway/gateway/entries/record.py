"""The stored record of a project: its newest entry with its version, or a tombstone instead. Pure."""

from dataclasses import dataclass
from typing import Any

from gateway.entries.entry import Entry, read_entry, read_project
from gateway.entries.fields import EntryError

REMEMBERED = 8
"""How many void credentials of a project are remembered. Requests with one of them are refused at once."""


@dataclass(frozen=True, slots=True)
class Record:
    project: str
    version: int
    entry: Entry | None
    """None in a tombstone: the project is stopped, suspended or deleted."""
    document: dict[str, Any] | None
    """The entry as it was received, for the disk."""
    void: tuple[str, ...] = ()
    """Digests of virtual credentials that were valid once."""
    leased: bool = False
    """For a tombstone: whether the last entry before it needed a lease."""

    @property
    def virtual(self) -> tuple[str, ...]:
        """Returns the digests of valid credentials."""
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
    """Returns the record that follows this one. Remembers credentials that are no longer valid as void.

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
    """Reads a record from the disk. Raises EntryError."""
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
