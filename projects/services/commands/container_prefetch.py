"""Lists a project's containers while the project is being claimed, because both take milliseconds."""

from containers.engine.lists import Prefetch
from containers.get_engine import get_engine
from projects.models import Project
from projects.rules.status.lifecycle import Operation


class ContainerPrefetch:
    """Begins to look within the caller's deadline. `project` must be the object that is claimed afterwards."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._operation, self._version = project.operation, project.entry_version
        self._prefetch = get_engine().prefetch(project.container_key, project.container_id)

    def if_undisturbed(self) -> Prefetch:
        """Returns the list after the claim, or `list` if another operation may have created a container meanwhile.

        That is so if one was in flight or has begun before the claim. Each claim raises the version by one.
        """
        is_next = self._project.entry_version == self._version + 1
        return self._prefetch if is_next and self._operation == Operation.NONE else list
