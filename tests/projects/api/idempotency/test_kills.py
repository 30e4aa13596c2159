"""kill -9 of a creation before each of its writes and engine calls.

A run tries every third point of each kind of creation, so that all kinds together try all; `--whole` tries each.

A retry has to wait only while the project is being created, or may still be; then it creates one project, or returns
the existing one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts import clock
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Gateway, IdempotencyRecord, Project
from projects.models.idempotency import PENDING_FOR
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.idempotency.records import age
from tests.projects.gateway.entries import counts_for
from tests.projects.telling import FIRST, LAST, tell_in_the_same_thread
from tests.sampling import Some

SILENT, REFUSED = EngineUnavailableError, EngineRefusedError
GOOD, LEAVING = "one that goes well", "one whose remains cannot be removed"
DEPLOYS = {
    GOOD: (),
    "one that the engine refuses": (("deploy.start", REFUSED),),
    "one that meets a silent engine": (("deploy.start", SILENT),),
    LEAVING: (("deploy.start", REFUSED), ("remove", SILENT)),
}
OFF = "without the gateway"


class Killed(BaseException):
    """No `except Exception` catches it."""


class Reaper:
    """Kills at the `point`-th step. No `finally` of the dead process has any effect."""

    def __init__(self, point: int) -> None:
        self.left = point
        self.is_dead = False

    def step(self) -> None:
        self.left -= 1
        self.is_dead = self.is_dead or self.left < 0
        if self.is_dead:
            raise Killed

    def statement(self, execute: Any, sql: str | bytes, params: Any, many: bool, context: Any) -> Any:
        text = sql.decode() if isinstance(sql, bytes) else sql
        if text.startswith(("INSERT", "UPDATE", "DELETE")):
            self.step()
        if self.is_dead and not text.startswith(("ROLLBACK", "RELEASE", "SAVEPOINT")):
            raise Killed
        return execute(sql, params, many, context)


@contextmanager
def killed_at(point: int, engine: MemoryEngine, when: str) -> Iterator[Reaper]:
    reaper, step = Reaper(point), engine._step

    def mortal(name: str) -> None:
        reaper.step()
        step(name)

    with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(reaper.statement):
        patch.setattr(engine, "_step", mortal)
        tell_in_the_same_thread(patch, when)
        yield reaper


def start_over(engine: MemoryEngine, failures: Any) -> None:
    Project.objects.all().delete()
    IdempotencyRecord.objects.all().delete()
    Gateway.objects.all().delete()
    engine.reset()
    for verb, error in failures:
        engine.fail(verb, error)


def heal(engine: MemoryEngine) -> None:
    engine._failures.clear()


def let_time_pass() -> None:
    Project.objects.exclude(operation="").update(operation_deadline=clock.now() - timedelta(seconds=1))
    age(PENDING_FOR)


def may_still_come() -> bool:
    """Returns whether the first request could be alive, as far as others can see."""
    if not IdempotencyRecord.objects.exists():
        return False
    project = Project.objects.first()
    return project is None or bool(project.operation)


def assert_one_is_made(create: Callable[..., Any], engine: MemoryEngine) -> None:
    answers = [create() for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201], answers[0].content
    assert answers[0].content == answers[1].content
    let_time_pass()
    reconcile()
    reconcile()
    look_after_gateway()
    made = Project.objects.get()
    assert not made.is_behind_gateway or counts_for(engine, made) == (True, True)
    assert str(made.pk) == answers[0].json()["id"]
    assert [each.key for each in engine.containers.values()] == [str(made.pk)]


@pytest.mark.sampled(2)
@pytest.mark.one_database
@pytest.mark.parametrize(
    ("deploy", "first", "when"),
    [
        (GOOD, "the retry", FIRST),
        *((deploy, "the retry", OFF) for deploy in DEPLOYS if deploy != GOOD),
        (GOOD, "a round", LAST),
        (LEAVING, "a round", LAST),
    ],
)
def test_a_retry_waits_no_longer_than_for_the_project(
    create: Callable[..., Any], engine: MemoryEngine, some: Some, settings: Any, deploy: str, first: str, when: str
) -> None:
    settings.BERTH_GATEWAY = when != OFF
    failures = DEPLOYS[deploy]
    for point in some(range(100), one_in=4, first=list(DEPLOYS).index(deploy) + (first == "a round")):
        start_over(engine, failures)
        with killed_at(point, engine, when) as reaper:
            with suppress(Killed):
                create()
            is_over = not reaper.is_dead
        connection.set_rollback(False)  # of the test's own transaction: the statement was never sent
        heal(engine)
        if may_still_come():
            assert_problem(create(), 409, "operation_in_progress")
            let_time_pass()
        if first == "a round":
            reconcile()
        assert_one_is_made(create, engine)
        if is_over:
            break
    assert is_over
    assert point > 8, "There are fewer points than a creation has writes."


def test_a_retry_of_a_request_cut_off_after_its_creation_creates_no_second_project(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    """A worker that is told to end raises SystemExit in its threads."""

    def end() -> None:
        raise SystemExit(1)

    engine.slow("deploy.start", end)
    with pytest.raises(SystemExit):
        create()
    engine.slow("deploy.start", None)
    assert_problem(create(), 409, "operation_in_progress")
    let_time_pass()
    assert_one_is_made(create, engine)
