"""A look's queries read an index, and not the table, however many projects are at rest."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import clock
from projects.models import Project
from projects.models.watched_row import compare_all, find_watched
from tests.many_rows import multiply
from tests.projects.watcher.rows import later

pytestmark = pytest.mark.django_db

ROWS = 50_000
INDEXES = [
    {"project_not_at_rest"},
    {"project_by_change"},
    {"projects_project_pkey", "sqlite_autoindex_projects_project_1"},
]


def test_every_query_of_a_look_uses_its_index_among_50_000_rows(deploy: Callable[..., Project]) -> None:
    at_rest, running = deploy(name="At rest"), deploy(name="Running", telegramToken="7:another")
    later(at_rest, desired="stopped", container_state="", container_id="", health="none")
    multiply(at_rest, ROWS)
    multiply(running, 300)
    keys = list(Project.objects.filter(name="Running").values_list("pk", flat=True))
    now = clock.now()
    with CaptureQueriesContext(connection) as narrow:
        assert set(find_watched([*keys, at_rest.pk], now=now)) == {*keys, at_rest.pk}
    with CaptureQueriesContext(connection) as whole:
        assert set(compare_all(keys, now=now)) == set(keys)
    plans = [explain(query["sql"]) for query in narrow.captured_queries]
    assert len(plans) == len(INDEXES)
    for plan, names in zip(plans, INDEXES, strict=True):
        assert any(name in plan for name in names), plan
        assert not reads_table(plan), plan
    assert reads_table(explain(whole.captured_queries[0]["sql"])), "It would not find what an index has lost"


def explain(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"{'EXPLAIN' if connection.vendor == 'postgresql' else 'EXPLAIN QUERY PLAN'} {sql}")
        return "\n".join(str(row) for row in cursor.fetchall())


def reads_table(plan: str) -> bool:
    return "Seq Scan on projects_project" in plan or "SCAN projects_project" in plan
