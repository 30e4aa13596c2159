"""Distinguishes events that commands probably cause from those that nobody asked for."""

from collections import OrderedDict

from containers.vocabulary import ContainerState, EngineEvent
from projects.models.rows.watched import RecordedRun
from projects.watcher.ends.run_ends import End

MOST = 5000
"""The maximum number of containers whose signals are remembered."""


class ExpectedEvents:
    """Remembers which containers received a signal through the engine. Only the thread that listens to it uses this.

    An engine reports a signal before the end that it causes. An agent that crashes, or that the kernel kills, ends
    without one.
    """

    def __init__(self) -> None:
        self._signalled: OrderedDict[str, None] = OrderedDict()

    def is_expected(self, event: EngineEvent) -> bool:
        """Returns whether a command probably caused this start or end. Call it for each event, in order."""
        signalled = event.container_id in self._signalled
        if event.action == "kill":
            self._signalled[event.container_id] = None
            if len(self._signalled) > MOST:
                self._signalled.popitem(last=False)
        elif event.action in {"start", "destroy"}:
            self._signalled.pop(event.container_id, None)
        # Commands start only new containers. A container that starts after a signal was restarted by someone else.
        return signalled if event.action in {"die", "stop"} else event.action == "start" and not signalled


def is_recorded(run: RecordedRun, container_id: str, end: End | None) -> bool:
    """Returns whether the row already shows the last start or end of its only known container.

    `end` is the container's last end by the engine's events. All times compared are the engine's.
    """
    if run.container_id != container_id:
        return False
    if run.container_state == ContainerState.RUNNING:
        return end is None or (run.started_at is not None and end.at <= run.started_at)
    if run.container_state != ContainerState.EXITED or run.finished_at is None or end is None:
        return False
    return end.is_present and end.began_at is not None and run.finished_at >= end.began_at
