"""What a project's status is, and what it may do next. Pure rules, no database and no engine."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from django.db.models import TextChoices

from containers.agent_contract import FATAL_EXIT_CODES
from containers.engine import ContainerState, Health

FRESH_FOR = timedelta(seconds=5)
"""How old an observation may be before the status is `unknown`."""

SETTLING = timedelta(seconds=3)
"""How long a container without a health check is `starting`."""

CRASH_LIMIT = 5
CRASH_WINDOW = timedelta(minutes=10)


class Desired(TextChoices):
    RUNNING = "running"
    STOPPED = "stopped"
    DELETED = "deleted"


class Action(TextChoices):
    START = "start"
    STOP = "stop"
    RESTART = "restart"


class Operation(TextChoices):
    NONE = "", "none"
    DEPLOY = "deploy"
    START = "start"
    STOP = "stop"
    RESTART = "restart"
    DELETE = "delete"


class Status(TextChoices):
    DEPLOYING = "deploying"
    STARTING = "starting"
    RUNNING = "running"
    DEGRADED = "degraded"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    CRASHED = "crashed"
    FAILED = "failed"
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"
    DELETING = "deleting"


SETTLED = frozenset(
    {Status.RUNNING, Status.DEGRADED, Status.STOPPED, Status.CRASHED, Status.FAILED, Status.SUSPENDED, Status.UNKNOWN}
)
"""Statuses that do not change by themselves within the next moments."""

WHILE_IN_FLIGHT = {
    Operation.DEPLOY: Status.DEPLOYING,
    Operation.START: Status.STARTING,
    Operation.RESTART: Status.RESTARTING,
    Operation.STOP: Status.STOPPING,
    Operation.DELETE: Status.DELETING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that the status of a project depends on.

    `operation` is the one in flight, NONE when there is none or its deadline has passed. `state` is None where the
    engine has no container, and `checked_at` is the moment at which the engine last said so.
    """

    now: datetime
    desired: Desired
    suspended: bool
    operation: Operation
    checked_at: datetime | None
    state: ContainerState | None
    health: Health = Health.NONE
    exit_code: int | None = None
    started_at: datetime | None = None
    agent_state: str = ""
    gave_up: bool = False
    failed: bool = False

    @property
    def is_up(self) -> bool:
        return self.state in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}


def derive_status(facts: Facts) -> Status:
    if facts.desired == Desired.DELETED:
        return Status.DELETING
    if facts.operation:
        return WHILE_IN_FLIGHT[facts.operation]
    if facts.checked_at is None or facts.now - facts.checked_at > FRESH_FOR:
        return Status.UNKNOWN
    if facts.suspended:
        return Status.STOPPING if facts.is_up else Status.SUSPENDED
    if facts.desired == Desired.STOPPED:
        return Status.STOPPING if facts.is_up else Status.STOPPED
    return _status_when_wanted(facts)


def _status_when_wanted(facts: Facts) -> Status:
    if facts.state == ContainerState.RUNNING:
        return _status_when_up(facts)
    if facts.state == ContainerState.PAUSED:
        return Status.DEGRADED
    if facts.state == ContainerState.RESTARTING:
        return Status.CRASHED if facts.exit_code in FATAL_EXIT_CODES or facts.gave_up else Status.RESTARTING
    return Status.FAILED if facts.failed else Status.CRASHED


def _status_when_up(facts: Facts) -> Status:
    if facts.health == Health.HEALTHY:
        return Status.RUNNING
    if facts.health == Health.UNHEALTHY or facts.agent_state in {"degraded", "failed"}:
        return Status.DEGRADED
    if facts.agent_state == "running":
        return Status.RUNNING
    if facts.health == Health.STARTING:
        return Status.STARTING
    settled = facts.started_at is not None and facts.now - facts.started_at >= SETTLING
    return Status.RUNNING if settled else Status.STARTING


class Verdict(Enum):
    """What a command leads to: `NOTHING` is success without an act."""

    PROCEED = auto()
    NOTHING = auto()
    CONFLICT = auto()
    SUSPENDED = auto()


_ALREADY_UP = frozenset({Status.RUNNING, Status.STARTING, Status.DEGRADED})

PREEMPTED_BY = {
    Operation.STOP: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART}),
    Operation.DELETE: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART, Operation.STOP}),
}
"""Operations in flight that the key may take the project from."""


def judge_action(action: Action, *, status: Status, operation: Operation, suspended: bool) -> Verdict:
    """The control table (`operation` is the one in flight)."""
    if status == Status.DELETING:
        return Verdict.CONFLICT
    if action == Action.STOP:
        return Verdict.PROCEED
    if suspended:
        return Verdict.SUSPENDED
    if operation:
        return Verdict.CONFLICT
    if action == Action.START and status in _ALREADY_UP:
        return Verdict.NOTHING
    return Verdict.PROCEED


def count_crashes(*, since: datetime | None, count: int, more: int, now: datetime) -> tuple[datetime, int]:
    """The crash window and its count after `more` crashes; a window that has run out starts anew."""
    if since is None or now - since > CRASH_WINDOW:
        return now, more
    return since, count + more


def is_crash_loop(*, exit_code: int | None, count: int) -> bool:
    """Whether to stop trying: the exit is one that no restart mends, or there were too many of them."""
    return exit_code in FATAL_EXIT_CODES or count >= CRASH_LIMIT
