"""Checks during a long request that its token is still valid and its project still the caller's."""

from typing import Any
from uuid import UUID

from django.db import close_old_connections, connection

from accounts.api.revalidation import TokenRevalidation
from accounts.database.compiled_query import CompiledQuery
from accounts.models import User
from projects.errors import ProjectGoneError, ProjectSuspendedError
from projects.models import Project
from projects.rules.status.lifecycle import Desired


class Revalidation(TokenRevalidation):
    """The revalidation of a request about a project."""

    def check_project(self, project: Project) -> None:
        """Raises `ProjectGoneError` or `ProjectSuspendedError` if the request must end."""
        check_project_of(self._user, project)


def check_project_of(user: User, project: Project) -> None:
    """Raises `ProjectGoneError` if the project is no longer the user's, and `ProjectSuspendedError`."""
    (found,) = _STANDING.rows(user.pk, project.pk) or [None]
    if found is None or found[0] == Desired.DELETED:
        raise ProjectGoneError
    _, suspended_at, is_owner_active = found
    if suspended_at is not None or not is_owner_active:
        raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")


def release_connection() -> None:
    """Returns this thread's database connection to its pool, if there is one, until it is needed again."""
    if not connection.in_atomic_block:
        close_old_connections()


def _write(owner_id: UUID, project_id: UUID) -> Any:
    found = Project.objects.order_by().filter(owner_id=owner_id, pk=project_id)
    return found.values_list("desired", "suspended_at", "owner__is_active")


_STANDING = CompiledQuery(_write, UUID(int=1), UUID(int=2))
"""Every stream runs it every two seconds."""
