"""Derives the status of a project from its facts."""

from datetime import timedelta

from accounts.moments import is_future, is_recent
from containers.agent_contract import FATAL_EXIT_CODES
from containers.vocabulary import ContainerState, Health
from projects.rules.status.lifecycle import FRESH_FOR, Desired, Facts
from projects.rules.status.statuses import TRAITS, Status

SETTLING = timedelta(seconds=3)
"""How long a container without a health check is `starting`."""

AWAITING_POLL = timedelta(seconds=100)
"""How long an agent behind the gateway stays `starting` while the gateway has not seen it reach Telegram. By then the
gateway has reported that the agent does not reach it, or there is no way to know."""

DECISIVE_STATES = frozenset({"running", "degraded", "failed"})
"""The reported states of an agent from which its status follows at once, without waiting for `SETTLING`."""

WHILE_IN_FLIGHT = {traits.in_flight: status for status, traits in TRAITS.items() if traits.in_flight}
"""The status while an operation is in flight."""


def derive_status(facts: Facts) -> Status:
    if facts.desired == Desired.DELETED:
        return Status.DELETING
    if facts.operation:
        return WHILE_IN_FLIGHT[facts.operation]
    if not is_recent(facts.checked_at, within=FRESH_FOR, now=facts.now):
        return Status.UNKNOWN
    held = _status_when_held(facts)
    if held is not None:
        return Status.STOPPING if facts.is_up else held
    return _status_when_wanted(facts)


def _status_when_held(facts: Facts) -> Status | None:
    """Returns the status of a project that must be down, once it is down; None if it should run."""
    if facts.suspended:
        return Status.SUSPENDED
    if facts.desired == Desired.STOPPED:
        return Status.STOPPED
    return Status.FAILED if facts.kept_down else None


def _status_when_wanted(facts: Facts) -> Status:
    if facts.state == ContainerState.RUNNING:
        return _status_when_up(facts)
    if facts.state == ContainerState.PAUSED:
        return Status.DEGRADED
    if facts.state == ContainerState.RESTARTING or _is_to_be_started_again(facts):
        return Status.CRASHED if facts.exit_code in FATAL_EXIT_CODES or facts.gave_up else Status.RESTARTING
    return Status.FAILED if facts.failed else Status.CRASHED


def _is_to_be_started_again(facts: Facts) -> bool:
    """Returns whether the agent has ended and the watcher will start it again instead of a restart policy."""
    has_ended = facts.state in {ContainerState.EXITED, ContainerState.DEAD} or facts.unprotected
    return has_ended and facts.is_watched and not facts.failed


def _status_when_up(facts: Facts) -> Status:
    """What the gateway has seen takes precedence over the agent's own reports."""
    if facts.has_reached_budget or facts.seen_code:
        return Status.DEGRADED
    if facts.health == Health.HEALTHY or facts.is_refuted:
        return Status.RUNNING
    if facts.health == Health.UNHEALTHY or facts.agent_state in {"degraded", "failed"}:
        return Status.DEGRADED
    if facts.agent_state == "running":
        return Status.RUNNING
    if facts.health == Health.STARTING:
        return Status.STARTING
    return Status.RUNNING if _has_settled(facts) else Status.STARTING


def _has_settled(facts: Facts) -> bool:
    """Also true if the engine's clock is ahead of ours, because the age of the start is unknown then."""
    if facts.started_at is None:
        return False
    span = AWAITING_POLL if facts.awaits_poll else SETTLING
    return facts.now - facts.started_at >= span or is_future(facts.started_at, now=facts.now)
