"""What an address of the admin could query: every column of every table, by every lookup and every path to it."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Field, ForeignObjectRel, Model

SITE = admin.site
DEPTH = 2
"""The number of relations in a path: from an API key to its user, and on to the user's other rows."""

SECRETS = (
    "accounts.user.password", "accounts.apikey.digest", "accounts.recoverycode.digest",
    "accounts.secondfactor.secret_ciphertext", "projects.project.telegram_token_ciphertext",
    "projects.project.api_key_ciphertext", "projects.project.virtual_token_ciphertext",
    "projects.project.virtual_key_ciphertext", "projects.project.pairing_secret_ciphertext",
    "projects.project.server_credentials_ciphertext",
    "projects.alertchannel.address_ciphertext", "projects.alertchannel.secret_ciphertext",
    "projects.keycheck.ciphertext", "sessions.session.session_key", "sessions.session.session_data",
)  # fmt: skip


def admins() -> list[Any]:
    """Every registered ModelAdmin."""
    return [model_admin for _, model_admin in sorted(SITE._registry.items(), key=lambda item: item[0]._meta.label)]


def list_address(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def columns_of(model: type[Model]) -> list[Any]:
    return list(model._meta.concrete_fields)


def secret_columns() -> Iterator[tuple[type[Model], str]]:
    for label in SECRETS:
        name, _, column = label.rpartition(".")
        yield apps.get_model(name), column


def paths_from(model: type[Model], *, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yields every column that a lookup can reach from the model, forwards and backwards, with its path."""
    for field in model._meta.get_fields(include_hidden=True):
        name = field.name.removesuffix("+") if isinstance(field, ForeignObjectRel) else field.name
        if getattr(field, "concrete", False):
            yield name, field
            if isinstance(field, Field) and field.attname != name:
                yield field.attname, field
        related: Any = field.related_model
        if depth and isinstance(related, type) and name:
            for path, column in paths_from(related, depth=depth - 1):
                yield f"{name}__{path}", column


def lookups_of(column: "Field[Any, Any]") -> list[str]:
    """Returns `""` for the plain name, each lookup, and each lookup after each transform:
    `startswith`, `year__gte`, …"""
    found = ["", "pk"]
    for name, lookup in column.get_lookups().items():
        found.append(name)
        if hasattr(lookup, "output_field") or hasattr(lookup, "function"):
            found += [f"{name}__{inner}" for inner in ("exact", "gt", "regex", "in", "isnull")]
    return [*found, "0", "a_key__startswith"]  # transforms of JSON columns


def all_lookups(model: type[Model]) -> Iterator[str]:
    for path, column in paths_from(model):
        for lookup in lookups_of(column):
            yield f"{path}__{lookup}" if lookup else path
