"""A list that counts as unchanged really is unchanged."""

from datetime import timedelta

import pytest

from accounts.models import User
from containers.vocabulary import ContainerState, Health
from projects.models import Project
from projects.models.rows.steadiness import find_steadiness
from projects.rules.status.derivation import AWAITING_POLL, derive_status
from projects.rules.status.lifecycle import Desired
from tests.projects.rules.facts import LONG_AGO, NOW

pytestmark = pytest.mark.one_database
SECONDS = (0, 2, 3, 4, 50, 99, 100, 101)


@pytest.mark.parametrize("is_awaited", [True, False])
@pytest.mark.parametrize(
    "agent_state", ["", "starting", "running", "degraded", "failed", "stopped", "of another image"]
)
def test_a_settled_status_stays(agent_state: str, is_awaited: bool) -> None:
    for health in Health:
        row = Project(
            owner=User(is_active=True), desired=Desired.RUNNING, container_state=str(ContainerState.RUNNING), bot_id=1,
            health=str(health), agent_state=agent_state, is_behind_gateway=is_awaited, started_at=NOW,
        )  # fmt: skip
        row.heartbeat_at, row.watched_until, row.updated_at = None, None, LONG_AGO
        steadiness = find_steadiness([row])
        assert steadiness is not None
        told = set()
        for second in SECONDS:
            row.observed_at = now = NOW + timedelta(seconds=second)
            if steadiness.holds(now, now):
                told.add(derive_status(row.facts(now)))
        assert len(told) == 1
    assert max(SECONDS) >= AWAITING_POLL.total_seconds()
