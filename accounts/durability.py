"""Makes sure that the database remembers what others are about to learn from it."""

from typing import Any

from django.db import connection


def keep_commits() -> None:
    """Returns once all that is committed survives a power cut. Raises Django's `OperationalError`.

    PostgreSQL keeps each commit by itself (`synchronous_commit`). SQLite, as it is set here, keeps them a little later.
    """
    backend: Any = connection
    if keep := getattr(backend, "keep_commits", None):
        keep()
