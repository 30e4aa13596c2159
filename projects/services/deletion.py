"""The end of a project: the container, its volumes and its secrets are confirmed gone before the row goes."""

from containers.engine import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.models import Actor, Project
from projects.models.operation import Claim
from projects.rules.lifecycle import PREEMPTED_BY, Desired, Operation
from projects.services.operations import command_deadline, time_allowed


def delete_project(*, project: Project, actor: Actor) -> bool:
    """Whether it is gone. Where the engine is silent it is `deleting`, and goes when the engine answers again."""
    claim = claim_deletion(project)
    with command_deadline(project.agent_type):
        gone = claim is not None and finish_deletion(project, claim)
    project.note(actor, "delete", "done" if gone else "recorded")
    return gone


def claim_deletion(project: Project) -> Claim | None:
    return project.claim(
        Operation.DELETE,
        lasting=time_allowed(project),
        preempting=PREEMPTED_BY[Operation.DELETE],
        desired=Desired.DELETED,
    )


def finish_deletion(project: Project, claim: Claim) -> bool:
    """Remove everything of a claimed project. Raises `EngineError` but for a silent engine, which gives False."""
    engine = get_engine()
    try:
        engine.stop(project.container_name, timeout=project.agent_type.stop_timeout)
        engine.remove(project.container_name, volumes=True)
    except EngineUnavailableError:
        project.record(claim)
        return False
    except EngineError:
        project.record(claim)
        raise
    return bool(Project.objects.filter(pk=project.pk, operation_id=claim.id).delete()[0])
