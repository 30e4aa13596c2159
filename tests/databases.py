"""How tests use the database."""

import pytest


def commits(item: pytest.Item) -> bool:
    """Whether the test's changes are committed, and removed after it, instead of being rolled back."""
    marker = item.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or bool({"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ())))


def touches_database(item: pytest.Item) -> bool:
    """More than a page does, which looks the same with any database, and whose views have tests without a browser.

    `one_database` marks tests whose subject does not depend on the database. They run on SQLite or, if they take long
    and PostgreSQL is stricter, on that.
    """
    if "browser" in item.path.parts:
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("one_database"):
        return is_for_postgresql(item)
    marked = any(item.get_closest_marker(name) for name in ("django_db", "postgres_only"))
    return marked or bool(fixtures & {"db", "transactional_db", "live_server", "upgrade", "older_tables", "rewinding"})


def is_for_postgresql(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("one_database")
    return marker is not None and marker.args == ("postgresql",)
