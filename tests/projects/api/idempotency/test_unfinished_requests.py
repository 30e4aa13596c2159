"""An Idempotency-Key whose first request is under way, or died before its answer."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from projects.api import idempotency
from projects.models import IdempotencyRecord, Project
from projects.models.idempotency import PENDING_FOR
from projects.services.commands.undoing import claim_undoing, undo
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.commands import deploys
from tests.projects.api.idempotency.records import KEY, age
from tests.waiting import wait_until


def test_a_retry_is_asked_to_wait_while_the_first_request_runs(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    inner: list[Any] = []

    def retry() -> None:
        engine.slow("deploy.create", None)
        inner.append(create())

    engine.slow("deploy.create", retry)
    outer = create()
    assert outer.status_code == 201
    assert_problem(inner[0], 409, "operation_in_progress")
    assert int(inner[0]["Retry-After"]) >= 1
    assert deploys(engine) == 1
    assert create().content == outer.content


@pytest.mark.parametrize("remains", [True, False])
def test_a_retry_during_the_undoing_of_a_failed_creation_is_asked_to_wait(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, *, remains: bool
) -> None:
    """The creation fails after the retry has read the record of the first request."""
    create()
    IdempotencyRecord.objects.update(answer="")
    project, follow = Project.objects.get(), idempotency._follow

    def fail_meanwhile(record: IdempotencyRecord) -> Any:
        claim = claim_undoing(project)
        if not remains:
            undo(project, claim)
        return follow(record)

    with monkeypatch.context() as context:
        context.setattr(idempotency, "_follow", fail_meanwhile)
        assert_problem(create(), 409, "operation_in_progress")
    Project.objects.all().delete()
    assert create().status_code == 201


def test_another_body_under_a_pending_key_is_a_422(create: Callable[..., Any], engine: MemoryEngine) -> None:
    inner: list[Any] = []

    def retry() -> None:
        engine.slow("deploy.create", None)
        inner.append(create(name="Other"))

    engine.slow("deploy.create", retry)
    create()
    assert_problem(inner[0], 422, "idempotency_mismatch")


def test_a_retry_of_a_request_that_died_after_its_deploy_gets_its_project(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    first = create()
    IdempotencyRecord.objects.update(answer="")  # it died before it could write its answer
    second = create()
    assert (second.status_code, second.json()["id"]) == (201, first.json()["id"])
    assert (len(engine.containers), deploys(engine)) == (1, 1)
    assert create().content == second.content


def test_a_retry_of_a_request_that_died_before_its_deploy_deploys(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    first = create()
    Project.objects.all().delete()
    engine.reset()
    IdempotencyRecord.objects.update(answer="")
    age(PENDING_FOR)
    second = create()
    assert (second.status_code, second.json()["id"]) == (201, first.json()["id"])
    assert len(engine.containers) == 1


def test_one_of_several_retries_takes_over_an_abandoned_key(create: Callable[..., Any], engine: MemoryEngine) -> None:
    create()
    Project.objects.all().delete()
    engine.reset()
    IdempotencyRecord.objects.update(answer="")
    age(PENDING_FOR)
    inner: list[Any] = []

    def come_second() -> None:
        engine.slow("deploy.create", None)
        inner.append(create())

    engine.slow("deploy.create", come_second)
    assert create().status_code == 201
    assert_problem(inner[0], 409, "operation_in_progress")
    assert deploys(engine) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_thirty_requests_with_one_key_create_one_project(
    alice: User, body: dict[str, Any], engine: MemoryEngine
) -> None:
    together, refused = threading.Barrier(30), threading.Event()
    engine.slow("deploy.create", lambda: refused.wait(60))  # so that they meet

    def insist(_number: int) -> bytes:
        client = api_of(alice)
        together.wait(timeout=60)

        def created() -> bytes | None:
            answer = client.post("/api/projects", body, headers={"idempotency-key": KEY})
            if answer.status_code == 201:
                content: bytes = answer.content
                return content
            assert_problem(answer, 409, "operation_in_progress")
            refused.set()
            return None

        try:
            return wait_until(created, within=60, what="The first request was never answered", every=0.05)
        finally:
            connection.close()

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(insist, range(30)))
    assert len(set(answers)) == 1
    assert refused.is_set(), "They did not meet."
    assert (deploys(engine), len(engine.containers)) == (1, 1)
    assert Project.objects.count() == IdempotencyRecord.objects.count() == 1
