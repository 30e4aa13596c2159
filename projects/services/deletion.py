"""The end of a project: the row goes once the container, its volumes and its secrets are confirmed gone."""

from collections.abc import Iterable

from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.models import Actor, Event, Project
from projects.models.operation import Claim
from projects.rules.lifecycle import PREEMPTED_BY, Desired, Operation
from projects.services.operations import Outcome, command_deadline, time_allowed


def delete_project(*, project: Project, actor: Actor) -> bool:
    """Returns whether the project is gone. Where the engine is silent it is `deleting`, and goes when it answers.

    Raises `ProjectGoneError` and `EngineError`.
    """
    claim = claim_deletion(project)
    if claim is None:  # another deletion is under way
        project.event(actor, "delete", "recorded").save()
        return False
    with command_deadline(project.agent_type):
        outcome = remove_container(project)
    is_silent = isinstance(outcome.error, EngineUnavailableError)
    word = "recorded" if is_silent else "failed" if outcome.error else "done"
    return finish_deletion(project, claim, outcome, events=[project.event(actor, "delete", word)])


def claim_deletion(project: Project) -> Claim | None:
    return project.claim(
        Operation.DELETE,
        lasting=time_allowed(project),
        preempting=PREEMPTED_BY[Operation.DELETE],
        desired=Desired.DELETED,
    )


def remove_container(project: Project) -> Outcome:
    """Removes the container, its volumes and its secrets."""
    engine = get_engine()
    try:
        engine.stop(project.container_name, timeout=project.agent_type.stop_timeout)
        engine.remove(project.container_name, volumes=True)
    except EngineError as error:
        return Outcome(error=error)
    return Outcome()


def finish_deletion(project: Project, claim: Claim, outcome: Outcome, *, events: Iterable[Event] = ()) -> bool:
    """Deletes the row, or ends the operation where something is left, and writes the events with it.

    Returns whether the row was deleted. Raises the outcome's error, but for a silent engine.
    """
    if outcome.error is None:
        return project.record_deletion(claim, events=events)
    project.record(claim, events=events)
    if not isinstance(outcome.error, EngineUnavailableError):
        raise outcome.error
    return False
