"""Entries on disk and in memory: versions, tombstones, and failures of the disk."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet, MultiFernet
from gateway.entries.entry import Entry, digest, read_entry
from gateway.entries.fields import EntryError
from gateway.entries.leases import Lease, tick
from gateway.entries.store import Store, read_keys
from gateway.entries.table import Change, Table

pytestmark = pytest.mark.one_database

PROJECT = "00000000-0000-0000-0000-000000000001"


def entry(virtual: str = "v", project: str = PROJECT) -> dict[str, Any]:
    provider = {"virtual": digest(virtual), "key": "sk-CANARY", "kind": "openai", "base": "https://api.example/v1"}
    return {"project": project, "address": "10.0.0.7", "provider": provider}


@pytest.fixture
def keys() -> MultiFernet:
    return MultiFernet([Fernet(Fernet.generate_key())])


@pytest.fixture
def table(tmp_path: Path, keys: MultiFernet) -> Table:
    return Table(Store(tmp_path, keys))


def apply(table: Table, version: int, *documents: dict[str, Any], void: tuple[str, ...] = ()) -> dict[str, int]:
    changes = [Change(document["project"], document) for document in documents]
    changes += [Change(project, None) for project in void]
    return asyncio.run(table.apply(changes, version))


def test_a_newer_version_replaces_an_older_one_and_never_the_reverse(table: Table) -> None:
    assert apply(table, 5, entry("new")) == {PROJECT: 5}
    assert apply(table, 4, entry("old")) == {PROJECT: 5}
    assert apply(table, 5, entry("same")) == {PROJECT: 5}
    assert table.find(digest("new")) is not None
    assert table.find(digest("old")) is table.find(digest("same")) is None


def test_a_tombstone_voids_an_entry_and_a_late_entry_does_not_revive_it(table: Table) -> None:
    apply(table, 1, entry())
    assert apply(table, 3, void=(PROJECT,)) == {PROJECT: 3}
    assert apply(table, 2, entry()) == {PROJECT: 3}
    assert table.find(digest("v")) is None
    assert table.is_void(digest("v"))


def test_a_tombstone_wins_over_an_entry_of_the_same_version_after_a_restart(
    tmp_path: Path, keys: MultiFernet, table: Table
) -> None:
    """The answer is only the number, and a caller that asked for a tombstone starts the agent on another node because
    of it.
    """
    leases, lease = table.leases, Lease(table.leases.as_document()["epoch"], tick() + 20)
    asyncio.run(table.apply([Change(PROJECT, entry())], 8, lease))
    assert leases.holds(PROJECT)
    assert apply(table, 8, void=(PROJECT,)) == {PROJECT: 8}
    assert not leases.holds(PROJECT)
    asyncio.run(table.apply([Change(PROJECT, entry())], 8, lease))
    for each in (table, Table(Store(tmp_path, keys))):
        assert each.versions() == {PROJECT: {"version": 8, "void": True}}
        assert not leases.holds(PROJECT)
        assert apply(each, 8, entry()) == {PROJECT: 8}
        assert each.find(digest("v")) is None


def test_a_project_that_comes_back_with_its_credential_is_valid_again(table: Table) -> None:
    apply(table, 1, entry())
    apply(table, 2, void=(PROJECT,))
    apply(table, 3, entry())
    assert table.find(digest("v")) is not None
    assert not table.is_void(digest("v"))


def test_another_process_reads_what_was_applied(tmp_path: Path, keys: MultiFernet, table: Table) -> None:
    apply(table, 7, entry(), entry("w", "other"))
    apply(table, 8, void=("other",))
    again = Table(Store(tmp_path, keys))
    assert again.versions() == {PROJECT: {"version": 7, "void": False}, "other": {"version": 8, "void": True}}
    assert again.is_void(digest("w"))
    found = again.find(digest("v"))
    assert found is not None
    assert found.provider is not None
    assert found.provider.key == "sk-CANARY"


def test_nothing_is_on_the_disk_in_plain_text(tmp_path: Path, table: Table) -> None:
    apply(table, 1, entry())
    for file in tmp_path.iterdir():
        assert b"CANARY" not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_an_older_key_still_reads(tmp_path: Path) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    (tmp_path / "key").write_text(f"{old}\n")
    apply(Table(Store(tmp_path / "s", read_keys(tmp_path / "key"))), 1, entry())
    (tmp_path / "key").write_text(f"{new}\n{old}\n")
    assert Table(Store(tmp_path / "s", read_keys(tmp_path / "key"))).find(digest("v")) is not None


@pytest.mark.parametrize("content", ["", "short", "not base64 at all!"])
def test_a_malformed_encryption_key_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(ValueError, match=r"key|Fernet|base64"):
        read_keys(tmp_path / "key")


def test_unreadable_files_are_skipped_and_the_others_count(tmp_path: Path, keys: MultiFernet, table: Table) -> None:
    apply(table, 1, entry(), entry("w", "other"), entry("x", "third"))
    (tmp_path / f"{PROJECT}.entry").write_bytes(b"torn")
    (tmp_path / "third.entry").rename(tmp_path / "stolen.entry")
    (tmp_path / "half.new").write_bytes(b"half")
    again = Table(Store(tmp_path, keys))
    assert list(again.versions()) == ["other"]
    assert not (tmp_path / "half.new").exists()


def test_a_full_disk_changes_no_entry(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(table, 1, entry())
    before = (tmp_path / f"{PROJECT}.entry").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        apply(table, 2, void=(PROJECT,))
    assert table.versions() == {PROJECT: {"version": 1, "void": False}}, "So it is sent again."
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(f"{PROJECT}.entry", before)]


def test_two_projects_cannot_have_one_credential(table: Table) -> None:
    apply(table, 1, entry())
    with pytest.raises(EntryError, match="same virtual credential"):
        apply(table, 2, entry("v", "other"))
    assert list(table.versions()) == [PROJECT]


def test_a_replaced_entry_is_reported_once(table: Table) -> None:
    told: list[tuple[str, bool]] = []

    async def tell(old: Entry, new: Entry | None) -> None:
        told.append((old.project, new is None))

    table.tell(tell)
    apply(table, 1, entry())
    apply(table, 1, entry())
    apply(table, 2, entry("w"))
    apply(table, 3, void=(PROJECT,))
    apply(table, 4, void=(PROJECT,))
    assert told == [(PROJECT, False), (PROJECT, True)]


JUNK: list[Any] = [None, True, 0, -1, 1.5, "", "a b", "x\r\ny", "é", [], {}, [1], {"a": 1}, "a" * 9000, 2**70]
FIELDS = (
    "project", "address", "telegram", "telegram.virtual", "telegram.token", "telegram.base", "provider",
    "provider.virtual", "provider.key", "provider.kind", "provider.base", "models", "prices", "prices.m", "limits",
    "limits.parallel", "budget", "budget.day_tokens", "spent", "spent.a",
)  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_junk_in_any_field_is_an_entry_error_or_harmless(field: str) -> None:
    for junk in JUNK:
        document = json.loads(json.dumps(entry()))
        bot = {"virtual": digest("t"), "token": "1:abc", "base": "https://t.example"}
        document |= {"telegram": bot, "prices": {"m": {}}, "limits": {}, "budget": {}, "spent": {}}
        place, _, name = field.rpartition(".")
        (document[place] if place else document)[name] = junk
        try:
            read_entry(document)
        except EntryError as error:
            assert "CANARY" not in str(error)  # noqa: PT017 - some of the junk is allowed
