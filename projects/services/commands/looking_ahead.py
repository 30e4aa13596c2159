"""Asks the engine for a project's containers while the project is claimed, as both take milliseconds."""

from containers.engine.lists import Ahead
from containers.get_engine import get_engine
from projects.models import Project
from projects.rules.status.lifecycle import Operation


class LookingAhead:
    """Begins to look, within the caller's deadline. `project` is as it was read before, and is the same object as the
    one that is claimed after.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._operation, self._version = project.operation, project.entry_version
        self._ahead = get_engine().look_ahead(project.container_key)

    def if_undisturbed(self) -> Ahead | None:
        """What was looked for, once the project is claimed. None where another operation may have made a container
        since: it was in flight, or has begun, before the claim. Each claim counts the version on by one.
        """
        is_next = self._project.entry_version == self._version + 1
        return self._ahead if is_next and self._operation == Operation.NONE else None
