"""`?wait=N`: delays the response until the status is settled."""

import time

from containers.outbound.call_limits import seconds_left
from projects.api.streams.long_requests import acquire_lease
from projects.api.streams.revalidation import Revalidation, release_connection
from projects.errors import ProjectGoneError, TooManyStreamsError
from projects.models import Project
from projects.services.bulkheads import WAITS
from projects.services.observation import refresh

POLL_SECONDS = 0.25

TO_ANSWER = 1.0
"""Seconds of the request's time that the last poll and the response need."""


def wait_until_settled(project: Project, *, seconds: float, revalidation: Revalidation) -> Project:
    """Returns the project when its status is settled, at the latest after `seconds`.

    Returns it earlier if the time of the whole request ends before, and at once if there is no place for another
    waiting request. Raises `ProjectGoneError`, and `AuthenticationFailed` if the token is revoked meanwhile.
    """
    try:
        with acquire_lease(project.owner, WAITS):
            return _wait(project, seconds=seconds, revalidation=revalidation)
    except TooManyStreamsError:
        return project  # the command is done, and waiting is a mere convenience


def _wait(project: Project, *, seconds: float, revalidation: Revalidation) -> Project:
    left = seconds_left()
    until = time.monotonic() + (seconds if left is None else min(seconds, left - TO_ANSWER))
    while not project.status.traits.is_settled and time.monotonic() < until:
        release_connection()
        time.sleep(POLL_SECONDS)
        if revalidation.is_due:
            revalidation.check_token()
        rows = Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type")
        found = rows.filter(pk=project.pk).first()
        if found is None:
            raise ProjectGoneError
        project = found
        refresh([project])
    return project
