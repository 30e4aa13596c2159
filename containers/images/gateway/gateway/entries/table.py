"""Keeps the records in memory, where they are found by a virtual credential. Changes are written to the store first."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.entries.bindings import Bindings
from gateway.entries.entry import Entry
from gateway.entries.fields import EntryError
from gateway.entries.index import Index
from gateway.entries.leases import Lease, Leases, tick
from gateway.entries.record import Record, follow
from gateway.entries.saving import Saving
from gateway.entries.store import Store


@dataclass(frozen=True, slots=True)
class Change:
    """A change that the control side requests: an entry, or None for a tombstone."""

    project: str
    document: dict[str, Any] | None


Changed = Callable[[Entry, Entry | None], Awaitable[None]]


class Table:
    def __init__(self, store: Store, leases: Leases | None = None) -> None:
        self._saving = Saving(store)
        self.leases = leases or Leases()
        self.bindings = Bindings(tick)
        self._changed: Changed | None = None
        self._one_at_a_time = asyncio.Lock()
        self._records = {record.project: record for record in store.load()}
        self._index = Index(self._records.values())
        self._barred: set[str] = set()
        """Projects whose tombstone could not be written. They are void until the process ends or an entry is newer."""

    @property
    def has_records(self) -> bool:
        """Whether any project has ever been here, as far as the disk says."""
        return bool(self._records)

    def tell(self, changed: Changed) -> None:
        """Makes `apply` call `changed` before it returns, for each entry that was replaced or is no longer valid
        (None).
        """
        self._changed = changed

    def find(self, virtual: str) -> Entry | None:
        """Returns the entry to which the credential with this digest belongs."""
        return self._index.find(virtual)

    def find_project(self, project: str) -> Entry | None:
        """Returns the project's entry, also if it needs a lease and has none."""
        record = self._records.get(project)
        return record.entry if record else None

    def counts(self, entry: Entry) -> bool:
        """Whether the entry is valid: if it needs a lease, it must have one."""
        return not entry.leased or self.leases.holds(entry.project)

    def counts_from(self, entry: Entry, address: str) -> bool:
        """Whether an `assigned` entry is valid from this address."""
        return entry.address == address if entry.address else self.bindings.admits(entry.project, address)

    def find_address(self, address: str) -> Entry | None:
        """Returns the entry of the only project whose agent has this fixed address."""
        return self._index.find_address(address)

    def has_address(self, address: str) -> bool:
        """Whether one agent, or several, have this address."""
        return self._index.has_address(address)

    def is_void(self, virtual: str) -> bool:
        """Whether the credential was valid once and no longer is."""
        return self._index.is_void(virtual)

    def may_return(self, virtual: str) -> bool:
        """Whether the credential may be void on this node only. A leased project gets a tombstone also when its agent
        leaves a node, and a node that has missed later messages keeps that tombstone.
        """
        return self._index.may_return(virtual)

    def versions(
        self, among: Collection[str] | None = None, awaits_word: Callable[[Entry], bool] = lambda _: False
    ) -> dict[str, dict[str, Any]]:
        """Returns the standing of all projects. With `among`, leaves out tombstones of other projects than these: there
        are as many as projects were ever deleted. `awaits_word` says whether an entry must be sent again.
        """
        return {
            record.project: {
                "version": record.version,
                "void": record.entry is None,
                **({"untold": True} if record.entry is not None and awaits_word(record.entry) else {}),
            }
            for record in self._records.values()
            if record.entry is not None or among is None or record.project in among
        }

    def renew(self, versions: Mapping[str, int], lease: Lease) -> list[str]:
        """Returns the projects that have a lease now. A project whose entry has another version gets none."""
        return [project for project, version in versions.items() if self._grant(project, version, lease)]

    def _grant(self, project: str, version: int, lease: Lease) -> bool:
        record = self._records.get(project)
        if record is None or record.entry is None or record.version != version or project in self._barred:
            return False
        return self.leases.grant(project, lease)

    async def apply(self, changes: Iterable[Change], version: int, lease: Lease | None = None) -> dict[str, int]:
        """Applies the changes that are newer than the records, and returns the current version of each project.

        Grants the lease to the projects that now have this version. If an entry and a tombstone have the same version,
        the tombstone wins, no matter which came first. So if the control side sends a tombstone and gets its version
        back, the project is void.

        On return the changes are on the disk and in force. Raises EntryError, and then nothing has changed; OSError,
        also if the disk hangs, and then projects that should be void are, but only for this process.
        """
        async with self._one_at_a_time:
            wanted = {change.project: change for change in changes}
            newer = self._newer(wanted.values(), version)
            if newer:
                try:
                    await self._saving.save(list(newer.values()))
                except OSError:
                    await self._bar([project for project, record in newer.items() if record.entry is None])
                    raise
            before = {project: self._records.get(project) for project in newer}
            for project, record in newer.items():
                self._replace(before[project], record)
            if lease is not None:
                self.renew(dict.fromkeys(wanted, version), lease)
            for project, changed in newer.items():
                old, new = before[project], changed.entry
                await self._report(old, new if new is not None and self.counts(new) else None)
            return {project: held.version for project in wanted if (held := self._records.get(project))}

    def _replace(self, old: Record | None, new: Record) -> None:
        if old is not None:
            self._index.remove(old)
        self._index.add(new)
        self._records[new.project] = new
        self._barred.discard(new.project)
        if new.entry is None:
            self.leases.drop(new.project)
            self.bindings.forget(new.project)

    async def _bar(self, projects: Iterable[str]) -> None:
        """Ends what the entries of these projects allow, although their tombstones are not on the disk. The control
        side goes on to send them, because `versions` does not change.
        """
        known = [self._records.get(project) for project in projects if project not in self._barred]
        barred = [record for record in known if record is not None and record.entry is not None]
        for record in barred:
            self._index.bar(record)
            self._barred.add(record.project)
            self.leases.drop(record.project)
            self.bindings.forget(record.project)
        for record in barred:
            await self._report(record, None)

    async def _report(self, old: Record | None, new: Entry | None) -> None:
        if self._changed is not None and old is not None and old.entry is not None:
            await self._changed(old.entry, new)

    def _newer(self, changes: Iterable[Change], version: int) -> dict[str, Record]:
        newer: dict[str, Record] = {}
        for change in changes:
            before = self._records.get(change.project)
            after = follow(before, project=change.project, version=version, document=change.document)
            if after.entry is not None and after.entry.project != change.project:
                raise EntryError("An entry and its message name different projects.")
            if before is None or before.version < version or _is_end(before, after):
                newer[change.project] = after
        self._index.refuse_shared(newer)
        return newer


def _is_end(before: Record, after: Record) -> bool:
    """Whether `after` is the tombstone of the same version as the entry `before`."""
    return after.version == before.version and after.entry is None and before.entry is not None
