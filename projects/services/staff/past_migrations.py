"""What the events say about earlier moves of agents by `manage.py migrate_engine`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from containers.vocabulary import Observation
from projects.models import Actor, Event, Project
from projects.rules.status.lifecycle import Action, Desired
from projects.services.commands.clearing import CLEAR

OPERATOR = Actor(label="operator", source="manage.py migrate_engine")

MOVE = "move"
"""The action of the event for a memory that was copied to the other engine."""


@dataclass(slots=True)
class Past:
    """Earlier moves of an agent. `copied_at`: when its memory was copied. `is_cleared`: its owner has cleared it since.

    `has_failed`: the last start or restart was ours and failed.
    """

    copied_at: datetime | None = None
    is_cleared: bool = False
    has_failed: bool = False

    def counts(self, former: Observation | None, *, is_there: bool) -> bool:
        """Returns whether the copy is still current: the agent has not run on the former host since."""
        if self.copied_at is None or not (is_there or self.is_cleared):
            return False
        times = [] if former is None else [former.created_at, former.started_at]
        return all(at is None or at < self.copied_at for at in times)

    def lets_run(self, project: Project) -> bool:
        """Returns whether the agent should run, even if only our own failed start keeps it down."""
        facts = project.facts()
        is_wanted = facts.desired == Desired.RUNNING and not (facts.suspended or facts.gave_up)
        return project.awaits_container or (is_wanted and self.has_failed)


def read_past(projects: Iterable[UUID]) -> dict[UUID, Past]:
    found = {pk: Past() for pk in projects}
    rows = Event.objects.filter(project_id__in=list(found), action__in=[MOVE, CLEAR, Action.RESTART, Action.START])
    for event in rows.order_by("at", "pk"):
        past = found[event.project_id]
        match event.action, event.outcome:
            case "move", "done":
                past.copied_at, past.is_cleared = event.at, False
            case "clear memory", "done":
                past.is_cleared = past.copied_at is not None
            case _, outcome if event.action != CLEAR:
                past.has_failed = outcome == "failed" and event.source == OPERATOR.source
    return found
