"""The queries of a round read an index, and not the table, no matter how many projects are at rest."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import clock
from projects.models import Project, Trouble
from projects.models.rows.watched import compare_all, find_watched
from projects.services.staff.status_counts import count_projects
from projects.watcher.notifications.troubles import note_troubles
from tests.many_rows import multiply, vacuum
from tests.projects.watcher.rows import later

pytestmark = pytest.mark.django_db(transaction=True)  # VACUUM marks the pages that an index covers completely

ROWS = 50_000
PRIMARY_KEY = {"projects_project_pkey", "sqlite_autoindex_projects_project_1"}
INDEXES = [{"project_not_at_rest", "project_holds_memory"}, {"project_by_change"}, PRIMARY_KEY]
INDEXES_OF_TROUBLES = [{"project_not_at_rest", "project_holds_memory"}, PRIMARY_KEY]


@pytest.mark.rare(2)
def test_every_query_of_a_round_uses_its_index_among_50_000_rows(deploy: Callable[..., Project]) -> None:
    at_rest, running = deploy(name="At rest"), deploy(name="Running", telegramToken="7:another")
    later(at_rest, desired="stopped", container_state="", container_id="", health="none")
    multiply(at_rest, ROWS)
    multiply(running, 300)
    if connection.vendor == "postgresql":
        vacuum("projects_project")
    keys = list(Project.objects.filter(name="Running").values_list("pk", flat=True))
    now = clock.now()
    with CaptureQueriesContext(connection) as narrow:
        assert set(find_watched([*keys, at_rest.pk], now=now)) == {*keys, at_rest.pk}
    with CaptureQueriesContext(connection) as whole:
        assert set(compare_all(keys, now=now)) == set(keys)
    check_plans(narrow, INDEXES)
    with CaptureQueriesContext(connection) as counting:
        assert sum(count_projects().values()) == ROWS + 302
    plan = explain(counting.captured_queries[-1]["sql"])
    assert any(f"{way} project_at_rest" in plan for way in ("COVERING INDEX", "Index Only Scan using")), plan
    Trouble.objects.create(project=running, told="crash")
    Trouble.objects.create(project=at_rest)
    with CaptureQueriesContext(connection) as troubles:
        note_troubles()
    check_plans(troubles, INDEXES_OF_TROUBLES)
    assert reads_table(explain(whole.captured_queries[0]["sql"])), "It would not find what an index has lost"


def check_plans(captured: CaptureQueriesContext, indexes: list[set[str]]) -> None:
    plans = [explain(each["sql"]) for each in captured.captured_queries if 'FROM "projects_project"' in each["sql"]]
    for plan, names in zip(plans, indexes, strict=True):
        assert any(name in plan for name in names), plan
        assert not reads_table(plan), plan


def explain(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"{'EXPLAIN' if connection.vendor == 'postgresql' else 'EXPLAIN QUERY PLAN'} {sql}")
        return "\n".join(str(row) for row in cursor.fetchall())


def reads_table(plan: str) -> bool:
    return "Seq Scan on projects_project" in plan or "SCAN projects_project" in plan
