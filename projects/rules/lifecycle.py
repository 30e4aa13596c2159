"""What an owner wants of a project, what is under way, and the facts from which everything else follows."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import TextChoices

from containers.agent_contract import FATAL_EXIT_CODES
from containers.engine import ContainerState, Health

FRESH_FOR = timedelta(seconds=5)
"""How old an observation may be before the status is `unknown`."""

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


PREEMPTED_BY = {
    Operation.STOP: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART}),
    Operation.DELETE: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART, Operation.STOP}),
}
"""Operations in flight that the key may take the project from."""


def count_crashes(*, since: datetime | None, count: int, more: int, now: datetime) -> tuple[datetime, int]:
    """The crash window and its count after `more` crashes; a window that has run out starts anew."""
    if since is None or now - since > CRASH_WINDOW:
        return now, more
    return since, count + more


def is_crash_loop(*, exit_code: int | None, count: int) -> bool:
    """Whether to stop trying: the exit is one that no restart mends, or there were too many of them."""
    return exit_code in FATAL_EXIT_CODES or count >= CRASH_LIMIT
