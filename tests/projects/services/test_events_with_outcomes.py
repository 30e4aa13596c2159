"""An outcome and its event are written together, wherever the process dies.

Every verb is killed before each of its statements in turn. A process that is killed runs no statement after that, and
what its transaction has written is rolled back.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from containers.engine import EngineRefusedError, EngineUnavailableError
from projects.errors import ProjectError
from projects.models import Actor, AgentType, Event, Plan, Project
from projects.rules.lifecycle import Action
from projects.services import (
    NewProject,
    ProjectChange,
    control_project,
    create_project,
    delete_project,
    lift_suspension,
    suspend_project,
    update_project,
)
from projects.watcher.reconcile import reconcile
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine

ALICE = Actor(label="alice@example.org", source="session")
ROLLBACK = ("ROLLBACK TO SAVEPOINT", "RELEASE SAVEPOINT")


class Killed(BaseException):
    """No code of the service catches it."""


@dataclass
class Process:
    """A process that dies before its statement number `dies_at`, or where it writes an event."""

    dies_at: int | None = None
    dies_at_event: bool = False
    statements: int = 0
    is_dead: bool = False

    def execute(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(ROLLBACK):
            is_event = self.dies_at_event and sql.startswith('INSERT INTO "projects_event"')
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


@dataclass(frozen=True)
class Verb:
    """`prepare` sets the scene, `act` carries out the verb, and `event` is the action and outcome it ends with."""

    event: tuple[str, str]
    act: Callable[[Project], object]
    prepare: Callable[[Project, MemoryEngine], object] = lambda project, engine: None


def act_on(action: Action) -> Callable[[Project], object]:
    return lambda project: control_project(project=project, action=action, actor=ALICE)


def refuse(verb: str) -> Callable[[Project, MemoryEngine], None]:
    return lambda project, engine: engine.fail(verb, EngineRefusedError)


def fall_silent(verb: str) -> Callable[[Project, MemoryEngine], None]:
    return lambda project, engine: engine.fail(verb, EngineUnavailableError)


def stopped(project: Project, engine: MemoryEngine) -> None:
    control_project(project=project, action=Action.STOP, actor=ALICE)


def stopped_and(fault: Callable[[Project, MemoryEngine], None]) -> Callable[[Project, MemoryEngine], None]:
    def prepare(project: Project, engine: MemoryEngine) -> None:
        stopped(project, engine)
        fault(project, engine)

    return prepare


def suspended(project: Project, engine: MemoryEngine) -> None:
    suspend_project(project=project, actor=ALICE)


def suspended_and_stopped(project: Project, engine: MemoryEngine) -> None:
    stopped(project, engine)
    suspended(project, engine)


def vanished(project: Project, engine: MemoryEngine) -> None:
    engine.vanish(project.container_name)


def vanished_again(project: Project, engine: MemoryEngine) -> None:
    Project.objects.update(recreated_at=timezone.now())
    engine.vanish(project.container_name)
    reconcile(repair=False)


def crashed(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name, 1)


def crashed_for_good(project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile(repair=False)


def crashed_and_seen(project: Project, engine: MemoryEngine) -> None:
    crashed(project, engine)
    reconcile(repair=False)


def to_be(**fields: Any) -> Callable[[Project, MemoryEngine], object]:
    return lambda project, engine: Project.objects.update(**fields)


def to_be_and(fault: Callable[[Project, MemoryEngine], None], **fields: Any) -> Callable[..., object]:
    def prepare(project: Project, engine: MemoryEngine) -> None:
        Project.objects.update(**fields)
        fault(project, engine)

    return prepare


def rename(project: Project) -> object:
    return update_project(project=project, change=ProjectChange(name="New"), actor=ALICE)


VERBS = {
    "start": Verb(("start", "done"), act_on(Action.START), stopped),
    "start, refused": Verb(("start", "failed"), act_on(Action.START), stopped_and(refuse("deploy.start"))),
    "start, silence": Verb(("start", "failed"), act_on(Action.START), stopped_and(fall_silent("deploy.start"))),
    "restart": Verb(("restart", "done"), act_on(Action.RESTART)),
    "restart, refused": Verb(("restart", "failed"), act_on(Action.RESTART), refuse("deploy.create")),
    "restart, silence": Verb(("restart", "failed"), act_on(Action.RESTART), fall_silent("deploy.create")),
    "stop": Verb(("stop", "done"), act_on(Action.STOP)),
    "stop, silence": Verb(("stop", "recorded"), act_on(Action.STOP), fall_silent("stop")),
    "stop, refused": Verb(("stop", "failed"), act_on(Action.STOP), refuse("stop")),
    "suspend": Verb(("suspend", "done"), lambda project: suspend_project(project=project, actor=ALICE)),
    "suspend, silence": Verb(
        ("suspend", "recorded"), lambda project: suspend_project(project=project, actor=ALICE), fall_silent("stop")
    ),
    "suspend, refused": Verb(
        ("suspend", "failed"), lambda project: suspend_project(project=project, actor=ALICE), refuse("stop")
    ),
    "lift": Verb(
        ("lift suspension", "done"),
        lambda project: lift_suspension(project=project, actor=ALICE),
        suspended_and_stopped,
    ),
    "update": Verb(("update", "done"), rename),
    "delete": Verb(("delete", "done"), lambda project: delete_project(project=project, actor=ALICE)),
    "delete, silence": Verb(
        ("delete", "recorded"), lambda project: delete_project(project=project, actor=ALICE), fall_silent("remove")
    ),
    "delete, refused": Verb(
        ("delete", "failed"), lambda project: delete_project(project=project, actor=ALICE), refuse("remove")
    ),
    "crash": Verb(("crash", "crash"), lambda project: reconcile(repair=False), crashed),
    "give up": Verb(("give up", "done"), lambda project: reconcile(), crashed_for_good),
    "bring back": Verb(("bring back", "done"), lambda project: reconcile(), crashed_and_seen),
    "recreate": Verb(("recreate", "done"), lambda project: reconcile(), vanished),
    "declare failed": Verb(("declare failed", "done"), lambda project: reconcile(), vanished_again),
    "take down": Verb(("take down", "done"), lambda project: reconcile(), to_be(desired="stopped")),
    "take down, refused": Verb(
        ("take down", "failed"), lambda project: reconcile(), to_be_and(refuse("stop"), desired="stopped")
    ),
    "finish deletion": Verb(("finish deletion", "done"), lambda project: reconcile(), to_be(desired="deleted")),
    "finish deletion, refused": Verb(
        ("finish deletion", "failed"), lambda project: reconcile(), to_be_and(refuse("remove"), desired="deleted")
    ),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())


def row() -> dict[str, Any] | None:
    found = Project.objects.values().first()
    return None if found is None else {**found}


def has_ended(before: dict[str, Any] | None, verb: Verb) -> bool:
    """Whether an outcome is in the row: it differs from before, and no operation is in flight."""
    after = row()
    if after is None or before is None:
        return after is not before
    if after["operation"]:
        return False
    if verb.event[0] == "recreate":  # the look that finds the container gone is written first, and has no event
        return bool(after["recreated_at"] != before["recreated_at"])
    return after != before


def events_of(verb: Verb) -> int:
    return Event.objects.filter(action=verb.event[0], outcome=verb.event[1]).count()


def scene(verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine) -> Project:
    """A project as `prepare` wants it. What an earlier scene has left is cleared away."""
    Project.objects.all().delete()
    Event.objects.all().delete()
    engine.reset()
    project = deploy()
    verb.prepare(project, engine)
    return Project.objects.select_related("owner", "plan", "agent_type").get()


@every_verb
def test_each_verb_has_its_event(verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine) -> None:
    project, before = scene(verb, deploy, engine), row()
    with running(Process()):
        verb.act(project)
    assert (has_ended(before, verb), events_of(verb)) == (True, 1)


@every_verb
def test_an_event_that_cannot_be_written_takes_its_outcome_with_it(
    verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    project, before = scene(verb, deploy, engine), row()
    process = Process(dies_at_event=True)
    with running(process):
        verb.act(project)
    assert process.is_dead
    assert (has_ended(before, verb), events_of(verb)) == (False, 0)


@every_verb
def test_wherever_the_process_is_killed_there_is_both_or_neither(
    verb: Verb, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    found = set()
    for number in range(100):
        project, before = scene(verb, deploy, engine), row()
        process = Process(dies_at=number)
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
        agent_type=AgentType.objects.get(),
        plan=Plan.objects.get(slug="free"),
        telegram_token="123:abc",
        api_key=CANARY_API_KEY,
    )
    create_project(owner=project.owner, wanted=wanted, actor=ALICE)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(None, "done"), (EngineRefusedError, "engine_refused"), (EngineUnavailableError, "engine_refused")],
)
def test_so_it_is_with_a_creation(
    fault: Any, outcome: str, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    verb = Verb(("deploy", outcome), create)
    for number in range(100):
        project = scene(verb, deploy, engine)
        Project.objects.all().delete()
        Event.objects.all().delete()
        engine.reset()
        if fault:
            engine.fail("deploy.start", fault)
        process = Process(dies_at=number)
        with running(process):
            create(project)
        deploying = Project.objects.filter(operation="deploy").exists()
        was_made = ("deploy", project.container_name) in engine.calls and not deploying
        assert int(was_made) == events_of(verb), f"killed before statement {number}"
        if not process.is_dead:
            break
    assert not process.is_dead
