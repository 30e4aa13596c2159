"""Measures everything that may grow, with its bounds: every table, the data directory, and the disk."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import Min

from projects.services.staff.growth_bounds import BOUNDS

UNKNOWN = "Not one of Berth's tables."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableGrowth:
    """The growth of a table. `oldest` is the time of its oldest row, or None. `bound` is a sentence for staff."""

    table: str
    rows: int
    oldest: datetime | None
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskGrowth:
    """In bytes: the size of the files in the data directory, and the free and total space of its file system."""

    path: Path
    used: int
    free: int
    total: int


def measure_tables() -> list[TableGrowth]:
    """Measures every table of the database, the largest first."""
    found = [_measure(table) for table in connection.introspection.table_names()]
    return sorted(found, key=lambda each: (-each.rows, each.table))


def measure_disk() -> DiskGrowth:
    """Measures the data directory and its file system. Raises `OSError` if that fails."""
    usage = shutil.disk_usage(settings.BERTH_DATA_DIR)
    return DiskGrowth(
        path=settings.BERTH_DATA_DIR,
        used=sum(_sizes(settings.BERTH_DATA_DIR)),
        free=usage.free,
        total=usage.total,
    )


def _sizes(directory: Path) -> Iterator[int]:
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):  # the file may be gone by now
                yield (Path(folder) / name).lstat().st_size


def _measure(table: str) -> TableGrowth:
    bound = BOUNDS.get(table)
    models: dict[str, Any] = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(table)
        cursor.execute(f"SELECT COUNT(*) FROM {name}")  # noqa: S608  # nosec B608 - as the database names its table
        (rows,) = cursor.fetchone()
    oldest = None
    if bound and bound.since:
        oldest = models[table].objects.aggregate(oldest=Min(bound.since))["oldest"]
    return TableGrowth(table=table, rows=rows, oldest=oldest, bound=bound.sentence if bound else UNKNOWN)
