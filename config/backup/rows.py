"""Rows as lines of JSON that are the same for every database: one array per row, in the order of the columns."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.duration import duration_iso_string

from config.backup.errors import BackupError

BATCH = 500
"""Rows that are held in memory at a time."""

ROWS_TOLD = 20 * BATCH
"""Rows of one table between two reports of the progress."""


def columns_of(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def read_rows(model: type[models.Model]) -> Iterator[bytes]:
    """Yields all rows of the table in the order of their keys."""
    rows = model._default_manager.order_by("pk").values_list(*columns_of(model))
    for row in rows.iterator(chunk_size=BATCH):
        yield json.dumps(row, default=_encode, separators=(",", ":")).encode() + b"\n"


def parse_rows(model: type[models.Model], lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yields the values of each row by column. Raises `BackupError` for a line that is not a row of this table."""
    fields = [(field.attname, _reader(field)) for field in model._meta.concrete_fields]
    for number, line in enumerate(lines, start=1):
        try:
            pairs = zip(fields, json.loads(line), strict=True)
            yield {name: read(value) for (name, read), value in pairs}
        except (ValueError, TypeError, ValidationError, RecursionError):
            what = f"row {number} of {model._meta.label_lower}"
            raise BackupError(
                f"The archive cannot be read: {what} is not a row of this table. Use another backup."
            ) from None


def write_rows(model: type[models.Model], rows: Iterable[dict[str, Any]]) -> Iterator[int]:
    """Stores the rows unchanged, and yields their number after each batch."""
    done = 0
    batch: list[models.Model] = []
    for row in rows:
        batch.append(model(**row))
        if len(batch) == BATCH:
            done += _write(model, batch)
            yield done
            batch = []
    if batch:
        yield done + _write(model, batch)


def _write(model: type[models.Model], batch: list[models.Model]) -> int:
    model._default_manager.bulk_create(batch)
    return len(batch)


def _encode(value: Any) -> Any:
    match value:
        case datetime() | date() | time():
            return value.isoformat()  # to the microsecond, which Django's own encoder cuts off
        case Decimal() | UUID():
            return str(value)
        case timedelta():
            return duration_iso_string(value)
        case bytes() | memoryview():
            return b64encode(bytes(value)).decode()
    message = f"{type(value).__name__} cannot be written"
    raise TypeError(message)


def _reader(field: "models.Field[Any, Any]") -> Callable[[Any], Any]:
    """Returns the function that converts a value of the line to a value of the column."""
    if isinstance(field, models.JSONField):
        return lambda value: value

    def read(value: Any) -> Any:
        if isinstance(value, list | dict):
            raise TypeError(field.attname)
        return field.to_python(value)

    return read
