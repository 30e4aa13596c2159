"""A look's queries read an index, and not the table, however many projects are at rest."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import QuerySet

from accounts import clock
from projects.models import Project, watched_row
from projects.models.watched_row import find_watched
from tests.many_rows import multiply
from tests.projects.watcher.rows import later

pytestmark = pytest.mark.django_db

ROWS = 50_000
INDEXES = [
    {"project_not_at_rest"},
    {"project_by_change"},
    {"projects_project_pkey", "sqlite_autoindex_projects_project_1"},
]


def test_every_query_of_a_look_uses_its_index_among_50_000_rows(
    deploy: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_rest, running = deploy(name="At rest"), deploy(name="Running", telegramToken="7:another")
    later(at_rest, desired="stopped", container_state="", container_id="", health="none")
    multiply(at_rest, ROWS)
    multiply(running, 300)
    keys = list(Project.objects.filter(name="Running").values_list("pk", flat=True))
    asked: list[QuerySet[Any, Any]] = []
    rows = watched_row._rows

    class Asked(QuerySet):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            asked.append(self)
            return super().__iter__()

    def note() -> Any:
        found = rows()
        found.__class__ = Asked
        return found

    monkeypatch.setattr(watched_row, "_rows", note)
    found = find_watched(keys, now=clock.now())
    assert set(found) == set(keys)
    assert len(asked) == len(INDEXES)
    for query, names in zip(asked, INDEXES, strict=True):
        plan = query.explain()
        assert any(name in plan for name in names), plan
        assert "SCAN projects_project" not in plan, plan
        assert "Seq Scan on projects_project" not in plan, plan
