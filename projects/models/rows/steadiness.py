"""From when on the statuses of rows depend on no clock any more, as long as a watcher is alive."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from containers.vocabulary import Health
from projects.models.project import Project
from projects.models.rows.project import ProjectRow
from projects.rules.status.derivation import AWAITING, SETTLING, TELLING
from projects.rules.status.lifecycle import Desired


class Steadiness(NamedTuple):
    """Rows say the same at each moment from `settled_at` on at which a heartbeat after `changed_at` is recent."""

    changed_at: datetime | None
    settled_at: datetime | None

    def holds(self, heartbeat: datetime, now: datetime) -> bool:
        is_seen = self.changed_at is None or heartbeat >= self.changed_at
        return is_seen and (self.settled_at is None or now >= self.settled_at)


def find_steadiness(rows: Iterable[ProjectRow | Project]) -> Steadiness | None:
    """None where some status follows from a time that runs out, or from an engine that has to be asked."""
    changed: list[datetime] = []
    settled: list[datetime] = []
    for row in rows:
        if row.desired == Desired.DELETED:
            continue
        # An operation holds the row for a while only, and so does a budget that is reached; a failure of the watcher
        # makes its heartbeat say nothing.
        if row.operation or row.reconcile_failures or row.budget_until is not None:
            return None
        changed.append(row.updated_at)
        if row.started_at is not None:
            says_nothing = row.health == Health.NONE and row.agent_state not in TELLING
            settled.append(row.started_at + (AWAITING if says_nothing and row.awaits_poll else SETTLING))
    return Steadiness(max(changed, default=None), max(settled, default=None))
