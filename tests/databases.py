"""What a test has to do with the database."""

import pytest


def commits(item: pytest.Item) -> bool:
    """Whether what the test writes is not rolled back, but taken away after it."""
    marker = item.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or bool({"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ())))


def touches_database(item: pytest.Item) -> bool:
    """More than a page does, which looks the same over any database; its views are tested without a browser, too.

    `one_database` marks tests that store something on their way to what they are about: SQLite is enough for them, or,
    where they take long and PostgreSQL is the stricter one, that.
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
