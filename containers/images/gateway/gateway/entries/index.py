"""Finds records by credentials and addresses. A changed record costs the same no matter how many there are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gateway.entries.entry import Entry
from gateway.entries.fields import EntryError
from gateway.entries.record import Record


class Index:
    def __init__(self, records: Iterable[Record]) -> None:
        self._valid: dict[str, Entry] = {}
        self._void: Counter[str] = Counter()
        """How many records remember a credential as void."""
        self._returning: Counter[str] = Counter()
        """The same for tombstones of projects that needed a lease."""
        self._barred: set[str] = set()
        self._at: defaultdict[str, dict[str, Entry]] = defaultdict(dict)
        """The entries with an address, by project."""
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        self._void.update(record.void)
        entry = record.entry
        if entry is None:
            self._returning.update(record.void if record.leased else ())
            return
        self._valid.update(dict.fromkeys(record.virtual, entry))
        if entry.address:
            self._at[entry.address][record.project] = entry

    def remove(self, record: Record) -> None:
        _subtract(self._void, record.void)
        entry = record.entry
        if entry is None:
            _subtract(self._returning, record.void if record.leased else ())
            return
        self._drop(record)
        self._barred.difference_update(record.virtual)
        if entry.address:
            del self._at[entry.address][record.project]
            if not self._at[entry.address]:
                del self._at[entry.address]

    def bar(self, record: Record) -> None:
        """Makes the credentials of an entry void, although it stays."""
        self._drop(record)
        self._barred.update(record.virtual)

    def _drop(self, record: Record) -> None:
        for virtual in record.virtual:
            found = self._valid.get(virtual)
            if found is not None and found.project == record.project:
                del self._valid[virtual]

    def find(self, virtual: str) -> Entry | None:
        return self._valid.get(virtual)

    def is_void(self, virtual: str) -> bool:
        return (virtual in self._void or virtual in self._barred) and virtual not in self._valid

    def may_return(self, virtual: str) -> bool:
        return virtual in self._returning and virtual not in self._valid

    def find_address(self, address: str) -> Entry | None:
        """Returns the entry of the only project with this address, unless it is assigned elsewhere."""
        found = list(self._at.get(address, {}).values())
        return found[0] if len(found) == 1 and not found[0].assigned else None

    def has_address(self, address: str) -> bool:
        return address in self._at

    def refuse_shared(self, newer: Mapping[str, Record]) -> None:
        """Raises EntryError if two services, of these records or of others that stay, had the same credential."""
        seen: set[str] = set()
        for record in newer.values():
            for virtual in record.virtual:
                owner = self._valid.get(virtual)
                if virtual in seen or (owner is not None and owner.project not in newer):
                    raise EntryError("Two projects, or two services of one, have the same virtual credential.")
                seen.add(virtual)


def _subtract(counts: "Counter[str]", names: Iterable[str]) -> None:
    for name in names:
        counts[name] -= 1
        if counts[name] <= 0:
            del counts[name]
