"""A failure at one project does not affect others in the round, and is counted and reported."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError
from django.utils import timezone

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.vocabulary import ContainerState
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project
from projects.services.commands import start_and_stop
from projects.watcher.ends import observation
from projects.watcher.reconcile import project as reconcile_project
from projects.watcher.reconcile import repair
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.round import Round
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.failing import assert_cared_for, break_at, end
from tests.projects.watcher.rows import later
from tests.sampling import Some

ERRORS: list[Any] = [
    RuntimeError("a bug"),
    TypeError("'int' object is not iterable"),
    RecursionError("too deep"),
    MemoryError(),
    OSError(28, "No space left on device"),
    UnicodeEncodeError("idna", "x", 0, 1, "label too long"),
    DataError("value out of range"),
    IntegrityError("UNIQUE constraint failed"),
    SecretUnreadableError("The api_key cannot be decrypted."),
    EngineError("The engine did something else."),
    EngineRefusedError("The disk is full."),
    EngineUnavailableError("The engine did not answer in time."),
]


STEPS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "take over an expired operation": (Project, "release_abandoned", {"operation": "start"}),
    "look whether the row differs": (reconcile_project, "differs", {}),
    "record what was seen": (reconcile_project, "record_observation", {}),
    "apply what was seen": (Project, "apply_observation", {}),
    "count crashes": (observation, "_count_crashes_between", {}),
    "read the end of the log": (observation, "read_log_tail", {}),
    "gather the facts": (Project, "facts", {}),
    "carry out the remedy": (reconcile_project, "carry_out", {}),
    "claim": (Project, "claim", {}),
    "bring up": (repair, "bring_up", {}),
    "build the specification": (start_and_stop, "build_spec", {}),
    "take down": (repair, "take_down", {"desired": "stopped"}),
    "remove": (repair, "remove_container", {"desired": "deleted"}),
    "finish the deletion": (repair, "finish_deletion", {"desired": "deleted"}),
    "record the outcome": (repair, "record_outcome", {}),
}
"""The steps of a round at one project: where they are, and the row that they need."""


def prepare(project: Project, engine: MemoryEngine, row: dict[str, Any]) -> None:
    """The agent has ended; `row` is its desired state, or the unfinished operation."""
    if "desired" not in row:
        engine.exit(project.container_name, exit_code=1)
    if "operation" in row:
        past = timezone.now() - timedelta(seconds=1)
        row = row | {"operation_id": project.pk, "operation_deadline": past}
    later(project, **row)


@pytest.mark.sampled(4)
@pytest.mark.one_database("postgresql")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", STEPS)
def test_no_error_of_one_project_ends_the_round(
    victim: Project, others: list[Project], engine: MemoryEngine, some: Some, step: str
) -> None:
    """A run takes a third of the errors at each step, and another third at the next one; `--whole` takes each."""
    place, name, row = STEPS[step]
    good = Project.objects.filter(pk=victim.pk).values().get()
    container = engine.containers[victim.container_name]
    for error in some(ERRORS, one_in=3, first=list(STEPS).index(step)):
        prepare(victim, engine, row)
        end(others, engine)
        with pytest.MonkeyPatch.context() as patch:
            assert_broken_once(break_at(patch, victim, place, name, error), reconcile(), error)
        assert_cared_for(others, engine)
        now = Project.objects.get(pk=victim.pk)
        assert (now.reconcile_failures, now.reconcile_error) == (1, type(error).__name__), error
        later(victim, **{column: value for column, value in good.items() if column != "id"})
        later(others[0], crash_count=0)
        later(others[1], crash_count=0)
        engine.containers[victim.container_name] = container
        container.state, container.exit_code, container.finished_at = ContainerState.RUNNING, None, None


def assert_broken_once(broken: list[str], result: Round, error: Exception) -> None:
    assert len(broken) == 1, error
    assert len(result.failed) == 1, error
    assert len(result.repaired) == 2, error


def test_a_failed_inspection_of_one_project_does_not_end_the_round(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    for error in (EngineRefusedError, EngineUnavailableError):
        end(others, engine)
        later(victim, reconcile_failures=0, reconcile_again_at=None)
        engine.fail("inspect", error)
        result = reconcile(changed_keys=[victim.container_key])
        assert len(result.failed) == 1
        assert_cared_for(others, engine)
        later(others[0], crash_count=0)
        later(others[1], crash_count=0)
