"""Ensures that the database has stored what others are about to rely on."""

from typing import Any

from django.db import connection


def keep_commits() -> None:
    """Returns once every commit survives a power cut. Raises Django's `OperationalError`.

    PostgreSQL stores each commit itself (`synchronous_commit`). SQLite, as configured here, stores commits slightly
    later.
    """
    backend: Any = connection
    if keep := getattr(backend, "keep_commits", None):
        keep()
