"""An outcome and its event are written together, no matter where the process dies.

Every verb is killed before each of its statements in turn. A killed process runs no further statement, and its
transaction is rolled back. A run takes the first statement of each verb and one in three of the others, with other
ones for the next verb; `--whole` takes each.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.errors import ProjectError
from projects.models import AgentType, Event, Plan, Project
from projects.services import (
    NewProject,
    create_project,
)
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.played_back import played_back
from tests.projects.services.verbs import ALICE, VERBS, Verb
from tests.sampling import Some

pytestmark = pytest.mark.one_database("postgresql")

ROLLBACK = ("ROLLBACK TO SAVEPOINT", "RELEASE SAVEPOINT")


class Killed(BaseException):
    """No code of the service catches it."""


@dataclass
class Process:
    """A process that dies before its statement number `dies_at`, or when it writes an event."""

    dies_at: int | None = None
    dies_at_event: bool = False
    statements: int = 0
    is_dead: bool = False

    def execute(self, execute: Any, sql: str | bytes, params: Any, many: bool, context: Any) -> Any:
        told = sql.decode() if isinstance(sql, bytes) else sql  # a compiled query on PostgreSQL is bytes
        if not told.startswith(ROLLBACK):
            is_event = self.dies_at_event and 'INSERT INTO "projects_event"' in told
            if self.is_dead or self.statements == self.dies_at or is_event:
                self.is_dead = True
                raise Killed
            self.statements += 1
        return execute(sql, params, many, context)


@contextmanager
def running(process: Process) -> Iterator[None]:
    expected = suppress(Killed, ProjectError, EngineRefusedError, EngineUnavailableError)
    with expected, connection.execute_wrapper(process.execute):
        yield


every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())


def row() -> dict[str, Any] | None:
    found = Project.objects.values().first()
    return None if found is None else {**found}


def has_ended(before: dict[str, Any] | None, verb: Verb) -> bool:
    """Whether an outcome is in the row: it differs from before, and no operation is in flight."""
    after = row()
    if after is None or before is None:
        return after is not before
    if verb.event[0] == "give up":  # the claim of the next operation reports it
        return bool(after["gave_up_at"] != before["gave_up_at"])
    if after["operation"]:
        return False
    if verb.event[0] == "recreate":  # the observation that the container is gone is written first, and has no event
        return bool(after["recreated_at"] != before["recreated_at"])
    return after != before


def events_of(verb: Verb) -> int:
    return Event.objects.filter(action=verb.event[0], outcome=verb.event[1]).count()


def prepared(verb: Verb, engine: MemoryEngine) -> Project:
    """Returns the project as `prepare` wants it, without any state of earlier verbs in the engine's dials."""
    engine.clear_faults()
    verb.prepare(Project.objects.get(), engine)
    return Project.objects.select_related("owner", "plan", "agent_type").get()


@every_verb
def test_each_verb_records_an_event(verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine) -> None:
    deploy()
    project, before = prepared(verb, engine), row()
    with running(Process()):
        verb.act(project)
    assert (has_ended(before, verb), events_of(verb)) == (True, 1)


@every_verb
def test_an_event_that_cannot_be_written_rolls_back_its_outcome(
    verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    deploy()
    project, before = prepared(verb, engine), row()
    process = Process(dies_at_event=True)
    with running(process):
        verb.act(project)
    assert process.is_dead
    assert (has_ended(before, verb), events_of(verb)) == (False, 0)


@pytest.mark.one_database("postgresql")
@every_verb
def test_wherever_the_process_is_killed_there_is_both_or_neither(
    verb: Verb, some: Some, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    found = set()
    deploy()
    for number in (0, *some(range(1, 100), one_in=3, first=list(VERBS.values()).index(verb))):
        process = Process(dies_at=number)
        with played_back(engine):
            project, before = prepared(verb, engine), row()
            with running(process):
                verb.act(project)
            assert int(has_ended(before, verb)) == events_of(verb), f"killed before statement {number}"
            found.add(events_of(verb))
        if not process.is_dead:
            break
    assert found == {0, 1}


# -- the creation, which begins without a row -------------------------------------------------------------------------


def create(project: Project) -> None:
    wanted = NewProject(
        project_id=project.pk,
        name="Pilot",
        agent_type=AgentType.objects.get(slug="assistant"),
        plan=Plan.objects.get(slug="free"),
        telegram_token="123:abc",
        api_key=CANARY_API_KEY,
    )
    create_project(owner=project.owner, wanted=wanted, actor=ALICE)


@pytest.mark.one_database("postgresql")
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(None, "done"), (EngineRefusedError, "engine_refused"), (EngineUnavailableError, "engine_refused")],
)
def test_an_event_that_cannot_be_written_rolls_back_its_creation(
    fault: Any, outcome: str, some: Some, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    verb, project = Verb(("deploy", outcome), create), deploy()
    Project.objects.all().delete()
    Event.objects.all().delete()
    faults = [None, EngineRefusedError, EngineUnavailableError]
    for number in some(range(100), one_in=3, first=faults.index(fault)):
        engine.reset()
        if fault:
            engine.fail("deploy.start", fault)
        process = Process(dies_at=number)
        with played_back(engine):
            with running(process):
                create(project)
            deploying = Project.objects.filter(operation="deploy").exists()
            was_made = ("deploy", project.container_key) in engine.calls and not deploying
            assert int(was_made) == events_of(verb), f"killed before statement {number}"
        if not process.is_dead:
            break
    assert not process.is_dead
