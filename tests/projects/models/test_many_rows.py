"""No statement of the API, the pages' reads or the watcher goes through the whole table of projects.

A million projects may be at rest. All queries of commands, reads and rounds are recorded here, no matter what
runs them and in which thread, and the database is asked how it would find the rows.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import Client
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import User
from projects.models import Project
from projects.watcher.upkeep.disk import measure_disks
from projects.watcher.upkeep.retention import prune
from projects.watcher.upkeep.samples import Samples
from projects.watcher.watcher import Watcher
from tests.clients import browser_of
from tests.many_rows import multiply
from tests.projects.watcher.rows import later
from tests.waiting import wait_until
from tests.watchers import run_in_thread

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 20_000

THREADS = {"gateway", "alerts", "images", "limits of names"}
"""Threads of the watcher that query projects within seconds."""

PATIENCE = 300.0
"""Seconds for what the watcher does within seconds on a machine that is not busy."""

LAST_OF_A_LOOK = 'WHERE ("projects_project"."budget_until" <= '

NUMBERED = r"\$(\d+)"

WHOLE = {
    "a look that trusts no row, once a minute": re.compile(r"\WCASE WHEN \(\W+projects_project\W+operation\W .* THEN "),
    "what a former version has stored of credentials of servers, twice after a start": re.compile(r'"settings" \?\| '),
    "where its first step ends": re.compile(r"LIMIT 1 OFFSET 4999$"),
    "whose disk may have changed, every two minutes": re.compile(r"ORDER BY \W+projects_project\W+disk_measured_at\W"),
}
"""Statements that scan it, and why they may."""


class Statements:
    """Records the queries about projects, in any thread."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.threads: set[str] = set()

    def note(self, sql: Any, params: Any) -> None:
        self.threads.add(threading.current_thread().name)
        text = sql.decode() if isinstance(sql, bytes) else str(sql)
        if '"projects_project"' in text and not text.startswith("INSERT"):
            self.asked.setdefault(text, params)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    made, execute = Statements(), CursorWrapper.execute

    def execute_and_note(self: CursorWrapper, sql: Any, params: Any = None) -> Any:
        made.note(sql, params)
        return execute(self, sql, params)

    monkeypatch.setattr(CursorWrapper, "execute", execute_and_note)
    return made


@pytest.mark.rare(2)
def test_each_statement_finds_its_rows_by_an_index(
    deploy: Callable[..., Project], bob: User, api: APIClient, alice: User, statements: Statements
) -> None:
    at_rest, mine = deploy(name="At rest"), deploy(name="Mine", telegramToken="7:another")
    later(
        at_rest,
        owner=bob,
        desired="stopped",
        container_state="",
        container_id="",
        health="none",
        disk_measured_at=clock.now(),
    )
    multiply(at_rest, ROWS)
    statements.asked.clear()
    with watching(statements):
        act(api, mine)
        read(api, browser_of(alice), mine)
    asked = dict(statements.asked)
    through_all = {sql: plan for sql, plan in find_plans(asked) if goes_through_all(plan)}
    unknown = [sql for sql in through_all if not any(each.search(sql) for each in WHOLE.values())]
    assert unknown == []
    assert len(statements.asked) > 50, "A test that hears nothing says nothing"


@contextmanager
def watching(statements: Statements) -> Iterator[None]:
    """Until a visit to the gateway has ended. Work that is due once in minutes is done here."""
    with run_in_thread(Watcher()):
        yield
        Samples(lambda: True).step()
        measure_disks()
        list(prune())
        wait_until(lambda: any(LAST_OF_A_LOOK in each for each in list(statements.asked)), within=PATIENCE)
        wait_until(lambda: statements.threads >= THREADS, within=PATIENCE, what=lambda: str(statements.threads))


def act(api: APIClient, project: Project) -> None:
    path = f"/api/projects/{project.pk}"
    for action in ("stop", "start", "restart"):
        assert api.post(f"{path}/control", {"action": action}, format="json").status_code in {200, 409}, action
    for change in ({"name": "Yours"}, {"plan": "starter"}, {"telegramToken": "8:yet-another"}, {"apiKey": "sk-other"}):
        answer = api.patch(path, change, format="json")
        assert answer.status_code in {200, 400, 409}, answer.content  # the watcher may be busy with it
    api.post("/api/projects/control", {"action": "stop", "ids": [str(project.pk)]}, format="json")


def read(api: APIClient, browser: Client, project: Project) -> None:
    base = "/api/projects"
    queries = ("", "?limit=20", "?status=running", "?q=mine", "?sort=name", "?include=bot")
    paths = [f"{base}{query}" for query in queries]
    paths += [f"{base}/{project.pk}{rest}" for rest in ("", "/events", "/usage", "/stats", "/logs")]
    for path in (*paths, "/api/me", "/api/plans"):
        assert api.get(path).status_code in {200, 404}, path
    for path in ("/", "/?q=mine&sort=name", f"/projects/{project.pk}"):
        assert browser.get(path).status_code in {200, 404}, path


def find_plans(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        for sql, params in list(asked.items()):
            if re.search(NUMBERED, sql):
                cursor.execute("SET plan_cache_mode = force_generic_plan")  # as compiled queries are run
                cursor.execute(f"PREPARE compiled AS {sql}")
                values = ", ".join(f"'{each}'" for each in params)
                cursor.execute(f"EXPLAIN EXECUTE compiled({values})")
            else:
                cursor.execute(f"{explain} {sql}", params)
            yield sql, "\n".join(str(row[-1]) for row in cursor.fetchall())
            if connection.vendor == "postgresql":
                cursor.execute("DEALLOCATE ALL")


def goes_through_all(plan: str) -> bool:
    return bool(re.search(r"Seq Scan on projects_project\b|SCAN projects_project(?! USING INDEX)", plan))
