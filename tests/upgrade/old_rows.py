"""Rows in every table of a release: one for each value that its tables accept in each column."""

import itertools
import json
import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import DataError, IntegrityError, models, transaction

from config.backup.schema import Migration, models_of
from projects.services.credentials.key_rotation import _encrypt_check
from tests.config.backup.rows import MOMENT, RAISED, values_of

Rows = dict[str, dict[str, dict[str, str]]]
"""By the table, the key, and the column."""

OF_ONE_ROW = {"projects.canary", "projects.keycheck", "projects.installation"}
LEFT_TO_DEFAULT = object()
TOGETHER = {"operation_id": uuid.UUID(int=7), "operation_deadline": MOMENT, "operation": "stop"}
"""Columns that have a value in the same rows only."""

MADE: list[tuple[Any, Callable[[Any, int], Any]]] = [
    (models.UUIDField, lambda _, number: uuid.UUID(int=number)),
    (models.EmailField, lambda _, number: f"a{number}@example.org"),
    (models.CharField, lambda column, number: f"{number:x}".rjust(column.max_length, "a")),
    (models.TextField, lambda _, number: f"text {number}"),
    (models.DateTimeField, lambda _, __: datetime(2026, 1, 2, tzinfo=UTC)),
    (models.DecimalField, lambda _, __: Decimal(1)),
    (models.BooleanField, lambda _, __: False),
    (models.JSONField, lambda _, __: {}),
]
MEANT: dict[str, Callable[[], str]] = {"instance": lambda: settings.BERTH_INSTANCE, "ciphertext": _encrypt_check}
"""Columns whose value the service checks at its start."""

_numbers = itertools.count(1)


def fill(applied: Collection[Migration]) -> None:
    left = models_of(applied)
    while left:
        labels = {model._meta.label_lower for model in left}
        ready = [model for model in left if not _needed(model) & labels - {model._meta.label_lower}]
        for model in ready:
            _fill_table(model)
        left = [model for model in left if model not in ready]


def photograph(applied: Collection[Migration]) -> Rows:
    return {model._meta.db_table: _rows_of(model) for model in models_of(applied)}


def _rows_of(model: type[models.Model]) -> dict[str, dict[str, str]]:
    columns: dict[str, Any] = {column.attname: column.column for column in model._meta.concrete_fields}
    return {
        str(row[model._meta.pk.attname]): {
            columns[name]: json.dumps(value, sort_keys=True, default=str) for name, value in row.items()
        }
        for row in model._base_manager.values()
    }


def _needed(model: type[models.Model]) -> set[str]:
    fields = model._meta.concrete_fields
    return {each.related_model._meta.label_lower for each in fields if each.is_relation and not each.null}  # type: ignore[union-attr]  # relations have one


def _fill_table(model: type[models.Model]) -> None:
    assert _insert(model, {}), model
    if model._meta.label_lower in OF_ONE_ROW:
        return
    for column in model._meta.concrete_fields:
        if not (column.primary_key or column.is_relation or column.name == "instance"):
            for value in _values(column):
                beside = TOGETHER if column.name in TOGETHER and value else {}
                _insert(model, {**beside, column.attname: value})


def _values(column: Any) -> list[Any]:
    if column.name in RAISED:  # by one, which the highest value cannot be
        return [0, 7]
    return [key for key, _ in column.flatchoices] if column.choices else values_of(column)


def _insert(model: type[models.Model], given: dict[str, Any]) -> bool:
    """Returns whether the table accepts it."""
    columns = [each for each in model._meta.concrete_fields if not isinstance(each, models.AutoField)]
    row = {column.attname: _value_for(column, next(_numbers)) for column in columns}
    usual = {name: value for name, value in row.items() if value is not LEFT_TO_DEFAULT}
    try:
        with transaction.atomic():
            model._base_manager.create(**{**usual, **given})
    except (IntegrityError, DataError):
        return False
    return True


def _value_for(column: Any, number: int) -> Any:
    if column.is_relation and not column.null:
        return column.related_model._base_manager.order_by("?").values_list("pk", flat=True).first()
    if column.null and not column.primary_key:
        return None
    if column.name in MEANT and not column.primary_key:
        return MEANT[column.name]()
    if column.has_default() and not _is_unique(column):
        return LEFT_TO_DEFAULT
    if column.choices:
        return column.flatchoices[0][0]
    return next((make(column, number) for kind, make in MADE if isinstance(column, kind)), number)


def _is_unique(column: Any) -> bool:
    constraints = column.model._meta.constraints
    return column.unique or any(column.name in getattr(each, "fields", ()) for each in constraints)
