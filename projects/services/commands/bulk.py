"""Runs one command on many projects within the time of one request, for the API and the pages alike."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from accounts.models import User
from accounts.throttling.rate_limits import count_again
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action
from projects.rules.status.traits import Condition
from projects.services.commands.control import control_project
from projects.services.commands.deletion import delete_project
from projects.services.observation import refresh

DELETE = "delete"

Each = TypeVar("Each")
Result = TypeVar("Result")


class Bulk(NamedTuple, Generic[Each, Result]):
    """The results and what is `left`. `wait` is in seconds, and not 0 if the user's limit of commands is reached."""

    results: list[Result]
    left: Sequence[Each]
    wait: int


def act_on_each(
    chosen: Sequence[Each],
    act: Callable[[Each], Result],
    *,
    user: User,
    meta: dict[str, Any],
    begin_within: float,
    is_let_in: Callable[[], bool],
) -> Bulk[Each, Result]:
    """Runs `act` on each. Each counts as one command of the user's minute; the request itself counts as the first.

    Begins none after `begin_within` seconds, or once `is_let_in` is false, but always runs the first one.
    """
    until, results, wait = time.monotonic() + begin_within, list[Result](), 0
    for each in chosen:
        if results:
            if not is_let_in() or time.monotonic() >= until:
                break
            state = count_again(meta, user=user, scope="commands")
            if state is not None and not state.allowed:
                wait = state.reset
                break
        results.append(act(each))
    return Bulk(results, chosen[len(results) :], wait)


def carry_out(project: Project, action: str, actor: Actor, *, by_staff: bool = False) -> bool:
    """Runs an `Action` or `DELETE`. Returns whether the project is gone. Raises what the single command raises."""
    if action == DELETE:
        return delete_project(project=project, actor=actor, by_staff=by_staff)
    control_project(project=project, action=Action(action), actor=actor)
    return False


class CommandReport(NamedTuple):
    """The result of a command in a sentence. `is_remark`: it is not yet, or not quite, what was requested."""

    sentence: str
    is_remark: bool = False
    is_gone: bool = False


_DONE = {Action.START: "Started.", Action.STOP: "Stopped.", Action.RESTART: "Restarted."}


def carry_out_and_describe(project: Project, action: str, actor: Actor, *, by_staff: bool = False) -> CommandReport:
    """Runs a command like `carry_out`, and describes the result for a page."""
    if action == DELETE:
        if carry_out(project, DELETE, actor, by_staff=by_staff):
            return CommandReport("Deleted.", is_gone=True)
        return CommandReport("It is gone when the engine has confirmed it.", is_remark=True)
    refresh([project])
    ran_already = action == Action.START and project.status.traits.condition == Condition.UP
    carry_out(project, action, actor)
    if action == Action.STOP and project.status.traits.condition != Condition.DOWN:
        return CommandReport("It is being stopped. That may take a while.", is_remark=True)
    return CommandReport("It ran already." if ran_already else _DONE[Action(action)])
