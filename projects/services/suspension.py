"""The staff's brake: a suspended project's container is down, and stays so until the suspension is lifted."""

from django.utils import timezone

from containers.engine import EngineError, EngineUnavailableError
from projects.models import Actor, Project
from projects.rules.lifecycle import Action, Desired
from projects.services.control import control_project
from projects.services.operations import claim_stop, command_deadline, take_down


def suspend_project(*, project: Project, actor: Actor) -> Project:
    """Take the container down and keep it down; what the owner wants is kept for when the suspension is lifted."""
    claim = claim_stop(project, suspended_at=timezone.now())
    outcome = "done"
    try:
        with command_deadline(project.agent_type):
            take_down(project, claim)
    except EngineUnavailableError:
        project.record(claim)
        outcome = "recorded"
    except EngineError:
        project.record(claim)
        raise
    project.note(actor, "suspend", outcome)
    return project


def lift_suspension(*, project: Project, actor: Actor) -> Project:
    """Let the owner have the project again; where it was wanted running, it is started."""
    Project.objects.filter(pk=project.pk).update(suspended_at=None, updated_at=timezone.now())
    project.refresh_from_db()
    project.note(actor, "lift suspension", "done")
    if project.desired == Desired.RUNNING and not project.is_suspended:
        return control_project(project=project, action=Action.START, actor=actor)
    return project
