"""Records at once that agents have ended, from the engine's events alone.

An engine sends the event for an end before it takes the container down, and answers about it only afterwards: tens of
milliseconds later, or more if it is busy.
"""

import logging
from collections.abc import Collection

from django.conf import settings
from django.db import DatabaseError

from accounts import clock
from containers.vocabulary import ContainerState
from projects.models import Project
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.observation import record_observation
from projects.watcher.ends.run_ends import FindEnd
from projects.watcher.ends.states_from_events import heard_state
from projects.watcher.failures import locked_rows

log = logging.getLogger(__name__)


def record_ends(keys: Collection[str], find_end: FindEnd) -> None:
    """Records which of these agents have ended, if their rows show them as running. Counts no crashes.

    The next inspection asks the engine how they ended. If the database refuses, it records the ends too.
    """
    ids = {found for key in keys if (found := as_uuid(key))} - locked_rows.ids()
    if not ids:
        return
    at = clock.now()
    up = Project.objects.filter(
        pk__in=ids, instance=settings.BERTH_INSTANCE, operation="", container_state=ContainerState.RUNNING
    )
    try:
        for project in up:
            heard = None if project.is_skipped(at) else heard_state(project, (), find_end)
            if heard is not None and heard.state is ContainerState.RESTARTING:
                record_observation(project, heard, at=at)
    except DatabaseError as error:
        log.info("Recording ended agents is left to the next inspection: %s", error)
