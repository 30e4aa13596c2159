"""`?wait=N`: hold the answer until the status is settled."""

import time

from projects.lifecycle import SETTLED
from projects.models import Project
from projects.observing import refresh

POLL_SECONDS = 0.25


def wait_until_settled(project: Project, *, seconds: float) -> Project:
    """The project as it is once nothing is under way, or after `seconds`."""
    until = time.monotonic() + seconds
    while project.status not in SETTLED and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        project = Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type").get(pk=project.pk)
        refresh([project])
    return project
