"""Facts about a project, as examples and as a strategy for any."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from containers.vocabulary import ContainerState, Health
from projects.rules.status.lifecycle import (
    CRASH_WINDOW,
    FRESH_FOR,
    Desired,
    Facts,
    Operation,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
LONG_AGO = NOW - timedelta(hours=1)
UP = (ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING)
DOWN = (None, *(state for state in ContainerState if state not in UP))

WELL = Facts(
    now=NOW,
    desired=Desired.RUNNING,
    suspended=False,
    operation=Operation.NONE,
    checked_at=NOW,
    state=ContainerState.RUNNING,
    health=Health.HEALTHY,
    started_at=LONG_AGO,
    agent_state="running",
)
NO_CHECK = WELL._replace(health=Health.NONE, agent_state="")
EXITED = WELL._replace(state=ContainerState.EXITED, health=Health.NONE, exit_code=1, agent_state="")
GONE = WELL._replace(state=None, health=Health.NONE, agent_state="", started_at=None)


def facts(base: Facts = WELL, **changes: Any) -> Facts:
    return base._replace(**changes)


STARTING = facts(health=Health.STARTING, agent_state="starting")
RETRYING = facts(EXITED, state=ContainerState.RESTARTING)
MOMENTS = st.none() | st.datetimes(
    NOW.replace(tzinfo=None) - CRASH_WINDOW, NOW.replace(tzinfo=None), timezones=st.just(UTC)
)
ANY_FACTS = st.builds(
    Facts,
    now=st.just(NOW),
    desired=st.sampled_from(Desired),
    suspended=st.booleans(),
    operation=st.sampled_from(Operation),
    checked_at=MOMENTS | st.just(NOW) | st.just(NOW - FRESH_FOR),
    state=st.none() | st.sampled_from(ContainerState),
    health=st.sampled_from(Health),
    exit_code=st.none() | st.integers(0, 255),
    started_at=MOMENTS,
    agent_state=st.sampled_from(["", "starting", "running", "degraded", "failed", "stopped"]) | st.text(max_size=20),
    gave_up=st.booleans(),
    failed=st.booleans(),
)
