"""Everything that a restore refuses, each in one sentence, and without writing anything."""

import hashlib
import io
import json
import re
import socket
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.core.management.base import CommandError
from pytest_django import Settings

from accounts import clock
from config.backup.archive import BLOCK, ArchiveReader, ArchiveWriter
from config.backup.manifest import Manifest, read_manifest, write_manifest
from config.backup.plan import RestoreOptions
from config.backup.restore import planned_restore
from projects.models import Project, Watch
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table, photograph

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.fixture
def good(archive: Path, run: Run) -> bytes:
    """The bytes of an archive of a database with a row in every table."""
    fill_every_table()
    run("backup", archive)
    return archive.read_bytes()


@pytest.fixture
def refused(run: Run, folder: Path) -> Callable[..., str]:
    """Restores, and returns the sentence of the refusal. Nothing has changed."""

    def restore(archive: Path, *options: object) -> str:
        before, files = photograph(), files_of(folder)
        with pytest.raises(CommandError) as raised:
            run("restore", archive, *options)
        assert photograph() == before
        assert files_of(folder) == files
        sentence = str(raised.value)
        assert "\n" not in sentence
        assert sentence.endswith(".")
        return sentence

    return restore


def planned(archive: Path) -> AbstractContextManager[object]:
    """Makes all checks of a restore, and nothing else."""
    return planned_restore(RestoreOptions(archive=archive, replace=True))


def files_of(folder: Path) -> dict[str, bytes]:
    """Returns all files of the data directory except the lock, with their contents."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "restore.lock"}


def headers_of(content: bytes) -> Iterator[tuple[int, tarfile.TarInfo]]:
    with tarfile.open(fileobj=io.BytesIO(content)) as found:
        for member in found:
            yield member.offset, member


# -- damage -----------------------------------------------------------------------------------------------------------


def test_no_byte_of_any_member_may_have_changed(good: bytes, archive: Path, refused: Callable[..., str]) -> None:
    """The first, a middle and the last byte of each content, and several bytes of each header."""
    places = []
    for offset, member in headers_of(good):
        places += [offset, offset + 124, offset + 156]
        if member.size:
            places += [offset + BLOCK + at for at in {0, member.size // 2, member.size - 1}]
    assert len(places) > 100
    damaged = bytearray(good)
    for place in places:
        damaged[place] ^= 1
        archive.write_bytes(damaged)
        with pytest.raises(CommandError, match=r"archive|damaged|cut off"), planned(archive):
            pytest.fail(f"Byte {place} was changed, and nobody noticed.")
        damaged[place] ^= 1
    damaged[places[-1]] ^= 1
    archive.write_bytes(damaged)
    assert "damaged" in refused(archive, "--replace")


def test_no_part_of_an_archive_may_be_missing(good: bytes, archive: Path, refused: Callable[..., str]) -> None:
    lengths = {0, 1, BLOCK - 1, len(good) // 2, len(good) - 2 * BLOCK - 1, *(place for place, _ in headers_of(good))}
    for length in sorted(lengths, reverse=True):
        archive.write_bytes(good[:length])
        with pytest.raises(CommandError, match=r"archive|damaged|cut off"), planned(archive):
            pytest.fail(f"All after byte {length} was missing, and nobody noticed.")
    assert "it has 0 bytes" in refused(archive, "--replace")


def test_a_member_larger_than_declared_is_refused(good: bytes, archive: Path, refused: Callable[..., str]) -> None:
    """Such a member could fill the disk."""
    [(offset, member)] = [found for found in headers_of(good) if found[1].name == "tables/projects.event.jsonl"]
    end = offset + BLOCK + member.size + -member.size % BLOCK
    member.size += 1 << 20
    larger = member.tobuf(tarfile.GNU_FORMAT) + good[offset + BLOCK : end]
    archive.write_bytes(good[:offset] + larger + bytes((1 << 20) - len(larger) % BLOCK) + good[end:])
    assert "archive" in refused(archive, "--replace")


# -- what does not fit ------------------------------------------------------------------------------------------------


def reseal(archive: Path, **changes: Any) -> None:
    """Rewrites the manifest as the program that made it could have written it."""
    keys = django_settings.BERTH_ENCRYPTION_KEYS
    with ArchiveReader.open(archive) as reader:
        manifest: Manifest = read_manifest(reader, keys=keys)
        end = next(offset for offset, member in headers_of(archive.read_bytes()) if member.name == "manifest.json")
    with archive.open("r+b") as file:
        file.seek(end)
        file.truncate()
        writer = ArchiveWriter(file, moment=0)
        write_manifest(writer, replace(manifest, **changes), keys=keys)
        writer.finish()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": 2}, "newer version"),
        ({"version": "99.0.0"}, "from version 99.0.0 of Berth, and this is"),
        ({"migrations": [["projects", "9999_later"]]}, "does not know the migration projects.9999_later"),
        ({"instance": "other"}, "Set BERTH_INSTANCE=other"),
        ({"created_at": "2026"}, "cannot read the archive|fits"),
        ({"tables": []}, "its contents differ from its list of contents"),
    ],
)
@pytest.mark.usefixtures("good")
def test_an_archive_that_this_installation_cannot_use_is_refused(
    changes: dict[str, Any], sentence: str, archive: Path, refused: Callable[..., str]
) -> None:
    reseal(archive, **changes)
    assert re.search(sentence, refused(archive, "--replace"))


@pytest.mark.usefixtures("good")
def test_a_wrong_key_is_reported_before_anything_is_written(
    archive: Path, settings: Settings, refused: Callable[..., str], run: Run
) -> None:
    right = settings.BERTH_ENCRYPTION_KEYS
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert "encryption key that is not here" in refused(archive, "--replace")
    settings.BERTH_ENCRYPTION_KEYS = [*settings.BERTH_ENCRYPTION_KEYS, *right]
    run("restore", archive, "--replace", "--dry-run")


@pytest.mark.usefixtures("good")
def test_a_database_that_is_not_empty_is_not_replaced_by_itself(archive: Path, refused: Callable[..., str]) -> None:
    assert "it contains 1 user and 1 project. Back it up first; --replace deletes it" in refused(archive)


@pytest.mark.usefixtures("good")
def test_a_service_that_runs_is_not_pulled_the_rug_from(
    archive: Path, settings: Settings, refused: Callable[..., str]
) -> None:
    with socket.create_server((settings.BERTH_HOST, settings.BERTH_PORT)):
        assert "Something listens on" in refused(archive, "--replace")
    Watch.objects.create(instance="other", holder="h", lease_until=clock.now() + timedelta(seconds=10))
    assert "A watcher of the instance other is using" in refused(archive, "--replace")


@pytest.mark.usefixtures("good")
def test_a_dry_run_reports_its_steps_and_does_nothing(archive: Path, folder: Path, run: Run) -> None:
    Project.objects.update(name="renamed")
    before, files = photograph(), files_of(folder)
    said = run("restore", archive, "--replace", "--dry-run")
    assert "contains 1 user and 1 project, will be replaced" in said
    assert "1 user, 1 project" in said
    assert photograph() == before
    assert files_of(folder) == files


def test_digests_match_the_members(good: bytes) -> None:
    """So that another program can check them."""
    with tarfile.open(fileobj=io.BytesIO(good)) as found:
        manifest = json.loads((found.extractfile("manifest.json") or io.BytesIO()).read())
        for table in manifest["tables"]:
            content = (found.extractfile(table["member"]) or io.BytesIO()).read()
            assert hashlib.sha256(content).hexdigest() == table["sha256"]
