"""A change and the restart that applies it to the agent, as one command."""

from django.views.decorators.debug import sensitive_variables

from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action
from projects.services.commands.control import control_project
from projects.services.commands.update import ProjectChange, update_project
from projects.services.operations import command_deadline

STORED = "The change is stored, but the agent was not restarted."


@sensitive_variables("change")
def change_project(*, project: Project, change: ProjectChange, actor: Actor, restart: bool) -> Project:
    """Changes the project, restarts it if asked, and returns it.

    Raises what `update_project` and `control_project` raise. The change stays if the restart fails; then the error has
    the note `STORED`.
    """
    with command_deadline():
        project = update_project(project=project, change=change, actor=actor)
        if restart:
            project = _restart(project, actor)
    return project


def _restart(project: Project, actor: Actor) -> Project:
    try:
        return control_project(project=project, action=Action.RESTART, actor=actor)
    except Exception as error:
        error.add_note(STORED)
        raise
