"""Checks again, while a request is being answered, that its token is still good and its project still the caller's."""

import time

from django.db import close_old_connections, connection
from rest_framework.exceptions import AuthenticationFailed

from accounts.api.authentication import BearerAuthentication
from accounts.errors import InvalidTokenError
from accounts.http import AuthenticatedRequest
from accounts.models import User
from projects.errors import ProjectGoneError, ProjectSuspendedError
from projects.models import Project
from projects.rules.lifecycle import Desired

EVERY = 2.0
"""Seconds between two checks."""


class Revalidation:
    """What a long answer asks before each part of it. It asks the database now and then only."""

    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        self._user = request.user
        self._role = _role_of(request.user)
        self._again_at = time.monotonic() + EVERY

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._again_at

    def check_token(self) -> None:
        """Raises `AuthenticationFailed` where the token is revoked or expired, or the user is another one by now:
        signed out, deactivated, with another password or another role.
        """
        self._again_at = time.monotonic() + EVERY
        found = BearerAuthentication().authenticate(self._request)
        if found is None or found[0].pk != self._user.pk or _role_of(found[0]) != self._role:
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token")

    def check_project(self, project: Project) -> None:
        """Raises `ProjectGoneError` and `ProjectSuspendedError`."""
        row = Project.objects.owned_by(self._user).select_related("owner").filter(pk=project.pk).first()
        if row is None or row.desired == Desired.DELETED:
            raise ProjectGoneError
        if row.is_suspended:
            raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")


def release_connection() -> None:
    """Gives the database connection of this thread back to its pool, if there is one, until it is needed again."""
    if not connection.in_atomic_block:
        close_old_connections()


def _role_of(user: User) -> tuple[bool, bool]:
    return user.is_staff, user.is_superuser
