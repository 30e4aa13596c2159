"""Events of the engine while no round completes, and the heartbeat meanwhile."""

import time
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from containers.vocabulary import EngineEvent
from projects.models import Project, Watch
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.event_freshness import OVERDUE, EventFreshness
from tests.fakes.engine import MemoryEngine

AGO = OVERDUE + 3.0
"""Seconds since the beginning of the last round with a heartbeat: what it saw is too old."""


def tell(
    made: EventFreshness, ends: RunEnds, project: Project | None, action: str = "die", *, ago: float = 0.0
) -> None:
    """The engine sends the event. Without a project it is an unrelated event."""
    event = EngineEvent(
        key=project.container_key if project else "",
        action=action,
        at=datetime.now(UTC) - timedelta(seconds=ago),
        container_id=project.container_id if project else "",
        exit_code=1 if action == "die" else None,
    )
    ends.note(event)
    made.hear(event)


def beaten_ago(at: datetime | None = None) -> float:
    """Returns the seconds before `at`, by default now: a machine may stand still between the heartbeat and now."""
    heartbeat = Watch.objects.get().heartbeat_at
    assert heartbeat is not None
    return ((at or timezone.now()) - heartbeat).total_seconds()


def know_the_clock(made: EventFreshness, engine: MemoryEngine) -> None:
    """By an event some time ago. None was received since."""
    made._delay.least, made._newest = time.monotonic() - time.time(), engine._events[-1][0].at.timestamp()
