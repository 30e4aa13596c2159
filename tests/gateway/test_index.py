"""Records are found by the same credentials and addresses as if all of them had been looked through, at less cost."""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet, MultiFernet
from gateway.entries.entry import Entry, digest
from gateway.entries.fields import EntryError
from gateway.entries.store import TOMBSTONES_KEPT, Store
from gateway.entries.table import Change, Table

pytestmark = pytest.mark.one_database

PROJECTS = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(6)]
CREDENTIALS = [digest(f"v{number}") for number in range(8)]
ADDRESSES = ["10.0.0.7", "10.0.0.8", "10.0.0.9"]


@pytest.fixture
def keys() -> MultiFernet:
    return MultiFernet([Fernet(Fernet.generate_key())])


@pytest.fixture
def table(tmp_path: Path, keys: MultiFernet) -> Table:
    return Table(Store(tmp_path, keys))


def make_entry(project: str, virtual: str, address: str | None = None, **more: Any) -> dict[str, Any]:
    provider = {"virtual": virtual, "key": "sk-CANARY", "kind": "openai", "base": "https://api.example/v1"}
    return {"project": project, "provider": provider, **({"address": address} if address else {}), **more}


def apply(table: Table, version: int, *changes: Change) -> dict[str, int]:
    return asyncio.run(table.apply(changes, version))


def look_through(table: Table) -> dict[str, Any]:
    """Returns what a search of all records finds."""
    records = table._records.values()
    valid = {virtual: record.project for record in records for virtual in record.virtual}
    entries = [record.entry for record in records if record.entry is not None]
    shared = Counter(entry.address for entry in entries if entry.address)
    void = {virtual for record in records for virtual in record.void} - valid.keys()
    returning = {virtual for record in records if record.entry is None and record.leased for virtual in record.void}
    return {
        "valid": valid,
        "void": void,
        "returning": returning & void,
        "alone": {each.address for each in entries if each.address and shared[each.address] == 1 and not each.assigned},
        "addresses": set(shared),
    }


def find(table: Table) -> dict[str, Any]:
    return {
        "valid": {each: found.project for each in CREDENTIALS if (found := table.find(each))},
        "void": {each for each in CREDENTIALS if table.is_void(each)},
        "returning": {each for each in CREDENTIALS if table.may_return(each)},
        "alone": {each for each in ADDRESSES if table.find_address(each)},
        "addresses": {each for each in ADDRESSES if table.has_address(each)},
    }


@pytest.mark.parametrize("seed", range(20))
def test_any_history_leads_to_the_same_as_looking_through_all(tmp_path: Path, keys: MultiFernet, seed: int) -> None:
    chance, table = random.Random(seed), Table(Store(tmp_path, keys))
    for version in range(60):
        changes = []
        for project in chance.sample(PROJECTS, chance.randrange(1, 4)):
            more = {name: True for name in ("leased", "assigned") if chance.random() < 0.3}
            address = chance.choice([*ADDRESSES, None])
            document = make_entry(project, chance.choice(CREDENTIALS), address, **more)
            changes.append(Change(project, document if chance.random() < 0.7 else None))
        try:
            apply(table, chance.randrange(version + 1), *changes)
        except EntryError as error:
            assert "same virtual credential" in str(error)  # noqa: PT017 - most are taken
        assert find(table) == look_through(table)
    assert find(Table(Store(tmp_path, keys))) == find(table)


def test_a_change_looks_at_no_other_record(table: Table) -> None:
    class Unread(dict[str, Any]):
        def __iter__(self) -> Any:
            raise AssertionError("All records are looked through.")

        values = items = keys = __iter__

    apply(table, 1, *(Change(project, None) for project in PROJECTS))
    table._records = Unread(table._records)
    assert apply(table, 2, Change(PROJECTS[0], make_entry(PROJECTS[0], CREDENTIALS[0]))) == {PROJECTS[0]: 2}
    assert apply(table, 3, Change(PROJECTS[0], None), Change(PROJECTS[1], None)) == dict.fromkeys(PROJECTS[:2], 3)


def test_old_tombstones_are_deleted_at_a_start(tmp_path: Path, keys: MultiFernet, table: Table) -> None:
    old, young, valid = PROJECTS[:3]
    apply(table, 1, Change(old, None), Change(young, None), Change(valid, make_entry(valid, CREDENTIALS[0])))
    for project in (old, valid):
        file = tmp_path / f"{project}.entry"
        moment = file.stat().st_mtime - TOMBSTONES_KEPT - 1
        os.utime(file, (moment, moment))
    again = Table(Store(tmp_path, keys))
    assert set(again.versions()) == {young, valid}
    assert not (tmp_path / f"{old}.entry").exists()
    assert apply(again, 2, Change(old, make_entry(old, CREDENTIALS[1]))) == {old: 2}


def test_a_tombstone_that_cannot_be_written_is_in_force(
    tmp_path: Path, keys: MultiFernet, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    async def note(old: Entry, new: Entry | None) -> None:
        ended.append(old.project)
        assert new is None

    project, other, virtual = PROJECTS[0], PROJECTS[1], CREDENTIALS[0]
    apply(table, 1, Change(project, make_entry(project, virtual)))
    table.tell(note)

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(table._saving._store, "save", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                apply(table, 2, Change(project, None), Change(other, make_entry(other, CREDENTIALS[1])))
    assert table.find(virtual) is table.find(CREDENTIALS[1]) is None
    assert table.is_void(virtual)
    assert ended == [project]
    assert table.versions() == {project: {"version": 1, "void": False}}, "So it is sent again."
    assert apply(table, 2, Change(project, None)) == {project: 2}
    assert apply(table, 3, Change(project, make_entry(project, virtual))) == {project: 3}
    assert table.find(virtual)
    assert not table.is_void(virtual)
