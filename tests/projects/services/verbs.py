"""Every verb that ends with an outcome and its event."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action
from projects.services import (
    ProjectChange,
    control_project,
    delete_project,
    lift_suspension,
    suspend_project,
    update_project,
)
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine

ALICE = Actor(label="alice@example.org", source="session")


@dataclass(frozen=True)
class Verb:
    """`prepare` sets the scene, `act` carries out the verb,
    and `event` is the action and outcome with which it ends."""

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
    suspend(project)


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


def suspend(project: Project) -> object:
    return suspend_project(project=project, actor=ALICE)


def lift(project: Project) -> object:
    return lift_suspension(project=project, actor=ALICE)


def delete(project: Project) -> object:
    return delete_project(project=project, actor=ALICE)


def watch(project: Project) -> object:
    """Does what the watcher does in each round."""
    return reconcile()


def look(project: Project) -> object:
    return reconcile(repair=False)


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
    "suspend": Verb(("suspend", "done"), suspend),
    "suspend, silence": Verb(("suspend", "recorded"), suspend, fall_silent("stop")),
    "suspend, refused": Verb(("suspend", "failed"), suspend, refuse("stop")),
    "lift": Verb(("lift suspension", "done"), lift, suspended_and_stopped),
    "update": Verb(("update", "done"), rename),
    "delete": Verb(("delete", "done"), delete),
    "delete, silence": Verb(("delete", "recorded"), delete, fall_silent("remove")),
    "delete, refused": Verb(("delete", "failed"), delete, refuse("remove")),
    "crash": Verb(("crash", "crash"), look, crashed),
    "give up": Verb(("give up", "done"), watch, crashed_for_good),
    "bring back": Verb(("bring back", "done"), watch, crashed_and_seen),
    "recreate": Verb(("recreate", "done"), watch, vanished),
    "declare failed": Verb(("declare failed", "done"), watch, vanished_again),
    "take down": Verb(("take down", "done"), watch, to_be(desired="stopped")),
    "take down, refused": Verb(("take down", "failed"), watch, to_be_and(refuse("stop"), desired="stopped")),
    "finish deletion": Verb(("finish deletion", "done"), watch, to_be(desired="deleted")),
    "finish deletion, refused": Verb(
        ("finish deletion", "failed"), watch, to_be_and(refuse("remove"), desired="deleted")
    ),
}
