"""The whole database comes back: every column of every table, with every kind of value, on both databases."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection

from accounts.models import User
from config.backup import create
from config.backup.schema import OF_ONE_MACHINE
from projects.models import Event, Installation, Project, Watch
from tests.canaries import find_canary
from tests.config.backup.conftest import Run
from tests.config.backup.rows import archived, cells, fill_every_table, photograph, put_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_column_of_every_table_is_restored(archive: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.management.commands.backup.require_own_instance", lambda: None)  # it has odd values too
    fill_every_table()
    assert [model._meta.label for model in archived() if not model._default_manager.exists()] == []
    taken = 0
    for number in range(4):
        by_column: dict[str, int] = {}
        for model, column, value in cells():
            name = f"{model._meta.label}.{column.attname}"
            by_column[name] = by_column.get(name, -1) + 1
            if by_column[name] == number:
                taken += put_in(model, column, value)
        before = photograph()
        run("backup", archive)
        User.objects.update(email="changed@example.org", is_active=False)
        Event.objects.all()._raw_delete("default")
        assert photograph() != before
        run("restore", archive, "--replace")
        assert photograph() == before
    assert taken > 200


def test_the_archive_describes_its_content_and_has_no_credential(archive: Path, run: Run) -> None:
    fill_every_table()
    keys = archive.with_name("keys.json")
    said = run("backup", archive, "--with-keys", keys)
    assert "1 user, 1 project" in said
    assert (archive.stat().st_mode & 0o777, keys.stat().st_mode & 0o777) == (0o600, 0o600)
    with tarfile.open(archive) as found:
        names = found.getnames()
        members = {name: (found.extractfile(name) or pytest.fail(name)).read() for name in names}
    manifest = json.loads(members["manifest.json"])
    assert names == [*(table["member"] for table in manifest["tables"]), "manifest.json", "seal.json"]
    for table in manifest["tables"]:
        assert len(members[table["member"]].splitlines()) == table["rows"] == manifest["counts"][table["model"]]
    assert not OF_ONE_MACHINE & set(manifest["counts"])
    content = archive.read_bytes()
    assert find_canary(content) is None
    for key in json.loads(keys.read_text())["keys"].values():
        assert key.encode() not in content
    assert Project.objects.get().telegram_token_ciphertext.encode() in content


def test_numbers_already_assigned_are_not_assigned_again(archive: Path, run: Run) -> None:
    """Even if their rows are gone, because readers of events have passed them."""
    owner = fill_every_table()
    last = Event.objects.create(project_id=owner.pk, owner_id=owner.pk).pk
    Event.objects.all()._raw_delete("default")
    run("backup", archive)
    run("restore", archive, "--replace")
    assert Event.objects.create(project_id=owner.pk, owner_id=owner.pk).pk == last + 1
    User.groups.through._default_manager.all().delete()
    owner.groups.set(owner.groups.model.objects.all())  # a table between two models has numbers, too


def test_transient_rows_are_not_restored(archive: Path, run: Run) -> None:
    alice = fill_every_table()
    Session.objects.create(session_key="k", session_data="d", expire_date=alice.date_joined)
    Watch.objects.create(instance="berth", holder="somebody")
    Project.objects.update(recreated_at=alice.date_joined)
    run("backup", archive)
    made = Installation.objects.get().backed_up_at
    Watch.objects.all().delete()
    run("restore", archive, "--replace")
    assert made == Installation.objects.get().backed_up_at is not None, "The archive is older than what it noted."
    assert not Session.objects.exists()
    assert not Watch.objects.exists()
    assert Project.objects.get().recreated_at is None
    assert User.objects.get().session_version == alice.session_version + 1


def test_a_backup_is_a_snapshot_of_one_moment(archive: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are written during the backup, and the writer is not delayed."""
    fill_every_table()
    before = photograph()
    writer = connection.copy()

    def write_and_read(*given: Any) -> Any:
        with writer.cursor() as cursor:
            cursor.execute("UPDATE accounts_user SET is_active = %s", [False])
            cursor.execute("DELETE FROM projects_event")
        return read(*given)

    read = create._copy_table
    monkeypatch.setattr(create, "_copy_table", write_and_read)
    try:
        run("backup", archive)
    finally:
        writer.close()
    assert not User.objects.filter(is_active=True).exists()
    run("restore", archive, "--replace")
    assert photograph() == before
