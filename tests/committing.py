"""Which tests commit what they write."""

import pytest


def commits(item: pytest.Item) -> bool:
    """Whether what the test writes is not rolled back, but taken away after it."""
    marker = item.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or bool({"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ())))
