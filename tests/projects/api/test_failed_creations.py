"""A creation that the database fails at any of its statements: soon nothing of it is left, and it can be repeated."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from rest_framework.test import APIClient

from projects.models import IdempotencyRecord, Plan, Project
from projects.rules.status.lifecycle import Operation
from projects.services import deferred
from projects.services.commands.undoing import undo_later
from projects.services.operations import time_allowed
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.sampling import Some
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MOST = 60
"""More statements and commits than a creation makes."""


class Away:
    """The database carries out and answers nothing more in this thread from the n-th statement or commit on.

    That commit is carried out all the same, but the answer is lost.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def count(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise OperationalError("server closed the connection unexpectedly")

    def execute(self, execute: Any, sql: str, *rest: Any) -> Any:
        self.count()
        return execute(sql, *rest)


@contextmanager
def away(at: int) -> Iterator[Away]:
    backend: Any = connection
    database, commit = Away(at), backend._commit

    def commit_and_count() -> None:
        if database.left > 0:
            commit()
        database.count()

    backend._commit = commit_and_count
    try:
        with connection.execute_wrapper(database.execute):
            yield database
    finally:
        backend._commit = commit


@pytest.fixture(autouse=True)
def client(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> APIClient:
    Plan.objects.update(max_projects=2)
    monkeypatch.setattr(deferred, "AGAIN", 0.02)
    api.raise_request_exception = False
    return api


@pytest.mark.rare(1)
@pytest.mark.parametrize("headers", [{}, {"idempotency-key": "k"}], ids=["without a key", "with a key"])
def test_a_creation_that_the_database_fails_can_be_repeated(
    client: APIClient, body: dict[str, Any], engine: MemoryEngine, some: Some, headers: dict[str, str]
) -> None:
    for at in some(list(range(1, MOST)), one_in=3):
        with away(at) as database:
            failed = client.post("/api/projects", body, headers=headers)
        if failed.status_code == 201:
            assert database.left > 0
            return
        assert_problem(failed, 503, "database_unavailable")
        wait_until(lambda: not deferred._deferred._is_running)
        assert not Project.objects.exclude(operation="").exists()
        repeated = client.post("/api/projects", body, headers=headers)
        if repeated.status_code == 409:  # only the answer of its last commit was lost
            assert "Your project “Harbour pilot” already runs" in assert_problem(repeated, 409, "bot_in_use")["detail"]
        else:
            assert repeated.status_code == 201
        assert len(engine.containers) == Project.objects.count() == 1
        Project.objects.all().delete()
        IdempotencyRecord.objects.all().delete()
        engine.reset()


def test_a_creation_that_another_process_goes_on_with_is_not_undone(
    client: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    project = Project.objects.get(pk=client.post("/api/projects", body).json()["id"])
    former = project.claim(Operation.DEPLOY, lasting=timedelta(0))
    claim = project.claim(Operation.DEPLOY, lasting=time_allowed())
    assert former is not None
    assert claim is not None
    undo_later(project, former)
    wait_until(lambda: not deferred._deferred._is_running)
    assert project.holds(claim)
    undo_later(project, claim)
    wait_until(lambda: not Project.objects.exists())
    assert not engine.containers
