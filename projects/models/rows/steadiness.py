"""Finds the moment after which the statuses of rows no longer depend on the clock while a watcher is alive."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from containers.vocabulary import Health
from projects.models.project import Project
from projects.models.rows.project import ProjectRow
from projects.rules.status.derivation import AWAITING_POLL, DECISIVE_STATES, SETTLING
from projects.rules.status.lifecycle import Desired


class Steadiness(NamedTuple):
    """The statuses stay the same from `settled_at` on, while there is a recent heartbeat that is after `changed_at`."""

    changed_at: datetime | None
    settled_at: datetime | None

    def holds(self, heartbeat: datetime, now: datetime) -> bool:
        is_seen = self.changed_at is None or heartbeat >= self.changed_at
        return is_seen and (self.settled_at is None or now >= self.settled_at)


def find_steadiness(rows: Iterable[ProjectRow | Project]) -> Steadiness | None:
    """Returns None if a status depends on a time that runs out, or on an engine that must be asked."""
    changed: list[datetime] = []
    settled: list[datetime] = []
    for row in rows:
        if row.desired == Desired.DELETED:
            continue
        # An operation and a reached budget last for a while only; after a failure of the watcher its heartbeat says
        # nothing about the row.
        if row.operation or row.reconcile_failures or row.budget_until is not None:
            return None
        changed.append(row.updated_at)
        if row.started_at is not None:
            says_nothing = row.health == Health.NONE and row.agent_state not in DECISIVE_STATES
            settled.append(row.started_at + (AWAITING_POLL if says_nothing and row.awaits_poll else SETTLING))
    return Steadiness(max(changed, default=None), max(settled, default=None))
