"""Archives whose manifest has values of the wrong kind: one sentence each, even with a valid seal."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management.base import CommandError

from config.backup.archive import ArchiveReader
from config.backup.manifest import Manifest, Table, read_manifest
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table
from tests.config.backup.test_refusals import planned, reseal
from tests.sampling import Some

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

MISSHAPEN: list[Any] = [None, True, 1, -1, 1e999, "", "\x1b[2J", "9" * 5000, [], [[]], [None], [["a"]], {}, {"a": [1]}]


def test_no_value_in_the_list_of_contents_makes_a_traceback(archive: Path, run: Run, some: Some) -> None:
    """Even with a valid seal. A restore ignores some values of some fields, and then may continue."""
    fill_every_table()
    run("backup", archive)
    whole = archive.read_bytes()
    with ArchiveReader.open(archive) as reader:
        manifest = read_manifest(reader, keys=settings.BERTH_ENCRYPTION_KEYS)
    table, wrong = manifest.tables[0], []
    places = [
        (value, each.name, each in fields(Table)) for value in MISSHAPEN for each in (*fields(Manifest), *fields(Table))
    ]
    for value, name, in_table in some(places, one_in=12):
        change = {"tables": [replace(table, **{name: value}), *manifest.tables[1:]]} if in_table else {name: value}
        archive.write_bytes(whole)
        reseal(archive, **change)
        try:
            with planned(archive):
                continue
        except CommandError as error:
            if not str(error).isprintable() or len(str(error)) > 1500:
                wrong.append((change, str(error)[:300]))
        except Exception as error:  # noqa: BLE001 - the finding
            wrong.append((change, repr(error)))
    assert wrong == []
