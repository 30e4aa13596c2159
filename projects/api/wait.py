"""`?wait=N`: hold the answer until the status is settled."""

import time

from projects.api.long_requests import acquire_lease
from projects.errors import ProjectGoneError, TooManyStreamsError
from projects.models import Project
from projects.services.observation import refresh

POLL_SECONDS = 0.25


def wait_until_settled(project: Project, *, seconds: float) -> Project:
    """The project as it is once nothing is under way, or after `seconds`, or at once where too many wait already."""
    try:
        with acquire_lease(project.owner):
            return _wait(project, seconds=seconds)
    except TooManyStreamsError:
        return project  # what was asked for has been done; only the comfort of waiting is refused


def _wait(project: Project, *, seconds: float) -> Project:
    until = time.monotonic() + seconds
    while not project.status.traits.is_settled and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        rows = Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type")
        found = rows.filter(pk=project.pk).first()
        if found is None:
            raise ProjectGoneError
        project = found
        refresh([project])
    return project
