"""Checks again, while a request is being answered, that its token is good and its project still the caller's."""

from django.db import close_old_connections, connection

from accounts.api.revalidation import TokenRevalidation
from accounts.models import User
from projects.errors import ProjectGoneError, ProjectSuspendedError
from projects.models import Project
from projects.rules.status.lifecycle import Desired


class Revalidation(TokenRevalidation):
    """Of a request about a project."""

    def check_project(self, project: Project) -> None:
        """Raises `ProjectGoneError` and `ProjectSuspendedError`."""
        check_project_of(self._user, project)


def check_project_of(user: User, project: Project) -> None:
    """Raises `ProjectGoneError` where the project is not the user's by now, and `ProjectSuspendedError`."""
    row = Project.objects.owned_by(user).select_related("owner").filter(pk=project.pk).first()
    if row is None or row.desired == Desired.DELETED:
        raise ProjectGoneError
    if row.is_suspended:
        raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")


def release_connection() -> None:
    """Gives the database connection of this thread back to its pool, if there is one, until it is needed again."""
    if not connection.in_atomic_block:
        close_old_connections()
