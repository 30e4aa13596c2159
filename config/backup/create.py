"""Creates a backup while everything keeps running."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, models

from config.backup.archive import ArchiveWriter, may_replace
from config.backup.errors import BackupError
from config.backup.keys import current_keys, encryption_keys
from config.backup.manifest import Manifest, Memory, Table, write_manifest
from config.backup.memory import write_memories
from config.backup.rows import ROWS_TOLD, columns_of, read_rows
from config.backup.schema import Migration, archived_models, copies, read_applied, require_known
from config.backup.whole_files import whole_file, why_not_written
from config.database.explanations import explain_fault
from projects.models import Installation
from projects.models.installation import read_installation
from projects.services.credentials.key_rotation import check_keys

Report = Callable[[str], None]


@dataclass(slots=True)
class _Copied:
    """The rows of the database at one moment."""

    at: datetime
    applied: set[Migration]
    installation: str
    tables: list[Table] = field(default_factory=list)


def make_backup(
    path: Path, *, with_memory: bool = False, for_owner: bool = False, report: Report = lambda _: None
) -> Manifest:
    """Writes the archive, and returns its manifest. Raises `BackupError`, and then leaves no new file.

    With `for_owner` the archive belongs to the owner of its directory, even if root runs this.
    All rows are from one moment. The memory of each agent is from a later moment of its own.
    """
    _require_replaceable(path)
    _prepare()
    with whole_file(path, for_owner=for_owner) as file:
        writer = ArchiveWriter(file, moment=time.time())
        try:
            with copies().snapshot(connection):
                copied = _copy_tables(writer, report)
        except DatabaseError as error:
            raise _refusal(error) from None
        memory = write_memories(writer, report=report) if with_memory else None
        manifest = _describe(copied, memory)
        write_manifest(writer, manifest, keys=encryption_keys(current_keys()))
        writer.finish()
    return manifest


def _require_replaceable(path: Path) -> None:
    """Raises `BackupError` if the path is that of a file other than a backup, such as the database itself."""
    try:
        if path.is_file() and not may_replace(path):
            raise BackupError(f"{path} holds something other than a backup, which would be lost. Name another file.")
    except OSError as error:
        raise BackupError(why_not_written(path, error)) from None


def _prepare() -> None:
    """Gives a database that was never served its id and key check. Raises `BackupError`."""
    try:
        if read_applied() and not Installation.objects.filter(pk=1).values_list("pk").exists():
            read_installation()
        check_keys()
    except ImproperlyConfigured as error:
        raise BackupError(str(error)) from None  # nobody could use the credentials in the archive
    except DatabaseError as error:
        raise _refusal(error) from None


def _copy_tables(writer: ArchiveWriter, report: Report) -> _Copied:
    copied = _Copied(at=datetime.now(UTC), applied=read_applied(), installation="")
    if not copied.applied:
        raise BackupError("The database is empty: there is nothing to back up. Check DATABASE_URL and BERTH_DATA_DIR.")
    require_known(copied.applied, what="The database")
    for model in archived_models(copied.applied):
        copied.tables.append(_copy_table(writer, model, report))
    copied.installation = Installation.objects.values_list("identifier", flat=True).get(pk=1)
    return copied


def _copy_table(writer: ArchiveWriter, model: type[models.Model], report: Report) -> Table:
    label = model._meta.label_lower
    name, rows = f"tables/{label}.jsonl", 0
    with writer.member(name) as member:
        for rows, line in enumerate(read_rows(model), start=1):
            member.write(line)
            if rows % ROWS_TOLD == 0:
                report(f"… {label}: {rows} rows")
    sequence = _last_value(model)
    return Table(
        member=name, size=member.size, sha256=member.sha256, model=label, columns=columns_of(model), rows=rows,
        sequence=sequence,
    )  # fmt: skip


def _last_value(model: type[models.Model]) -> int | None:
    key: Any = model._meta.pk
    if not isinstance(key, models.AutoField | models.BigAutoField):
        return None
    found: int | None = copies().last_value(connection, model._meta.db_table, key.column)
    return found


def _describe(copied: _Copied, memory: list[Memory] | None) -> Manifest:
    rows = {table.model: table.rows for table in copied.tables}
    return Manifest(
        id=uuid4().hex,
        version=settings.BERTH_VERSION,
        created_at=copied.at.isoformat(),
        instance=settings.BERTH_INSTANCE,
        installation=copied.installation,
        database=connection.vendor,
        migrations=[list(each) for each in sorted(copied.applied)],
        tables=copied.tables,
        memory=memory,
        counts={**rows, "memory": len(memory or [])},
    )


def _refusal(error: DatabaseError) -> BackupError:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    return BackupError(f"Nothing was written. {explain_fault(error) or f'The database cannot be used ({reason}).'}")
