"""Every command that fails leaves an event of who gave it, and holds the project no longer: whether it is refused, is
overtaken by a deletion, or meets an error that nobody foresaw."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from projects.errors import ProjectError
from projects.models import Event, Project
from projects.rules.status.lifecycle import Action
from projects.services import delete_project, suspend_project
from projects.services.commands.clearing import clear_memory
from projects.services.commands.suspension import lift_suspension
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import held, once
from tests.projects.services.verbs import ALICE, act_on, suspended

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Act = Callable[[Project], object]

COMMANDS: dict[str, Act] = {
    **{str(action): act_on(action) for action in Action},
    "clear memory": lambda project: clear_memory(project=project, actor=ALICE),
    "suspend": lambda project: suspend_project(project=project, actor=ALICE, because="Why not"),
    "delete": lambda project: delete_project(project=project, actor=ALICE),
}
"""By the action of the event."""

CALLS = ("inspect", "stop", "remove", "deploy")


class UnforeseenError(Exception):
    """A mistake in the program."""


def outcomes(action: str) -> list[str]:
    return list(Event.objects.filter(action=action, actor=ALICE.label).values_list("outcome", flat=True))


def current(project: Project) -> Project:
    return Project.objects.select_related("owner", "plan", "agent_type").get(pk=project.pk)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_to_a_project_that_is_being_deleted(project: Project, engine: MemoryEngine, command: str) -> None:
    held(project, "delete", seconds=20, desired="deleted")
    with suppress(ProjectError):
        COMMANDS[command](current(project))
    assert outcomes(command) == ["recorded" if command == "delete" else "failed"]


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "delete"])
@pytest.mark.parametrize("call", CALLS)
def test_a_command_that_a_deletion_overtakes(project: Project, engine: MemoryEngine, command: str, call: str) -> None:
    overtaken: list[bool] = []

    def delete() -> None:
        overtaken.append(delete_project(project=current(project), actor=ALICE, by_staff=True))

    if command == "start":
        COMMANDS["stop"](current(project))
    before = len(outcomes(command))
    once(engine, call, delete)
    with suppress(ProjectError):
        COMMANDS[command](current(project))
    assert len(outcomes(command)) == before + 1
    if overtaken:
        assert not Project.objects.exists()
        is_done = (command, call) in {("clear memory", "remove"), ("clear memory", "deploy")}
        assert outcomes(command)[-1] == ("done" if is_done else "failed"), "The memory is gone already."


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("call", CALLS)
def test_a_command_that_meets_an_unforeseen_error(
    project: Project, engine: MemoryEngine, command: str, call: str
) -> None:
    if command == "start":
        COMMANDS["stop"](current(project))
    before = len(outcomes(command))
    engine.fail(call, UnforeseenError("Nobody foresaw this."))
    with suppress(UnforeseenError):
        COMMANDS[command](current(project))
    if engine._failures[call]:
        engine.clear_faults()
    else:
        is_done = (command, call) == ("clear memory", "deploy")
        assert outcomes(command)[before:] == ["done" if is_done else "failed"]
        assert current(project).operation == ""
    assert len(outcomes(command)) == before + 1


def test_the_start_of_a_project_whose_suspension_is_lifted_fails_with_an_event(
    project: Project, engine: MemoryEngine
) -> None:
    suspended(project, engine)
    engine.fail("deploy", UnforeseenError("Nobody foresaw this."))
    with pytest.raises(UnforeseenError):
        lift_suspension(project=current(project), actor=ALICE)
    assert (outcomes("lift suspension"), outcomes("start")) == (["done"], ["failed"])
    assert current(project).operation == ""
