"""What an owner wants from a project, which operation is in flight, and the facts from which the status follows."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import TextChoices

from accounts.moments import is_recent, lasts
from containers.agent_contract import FATAL_EXIT_CODES
from containers.vocabulary import ContainerState, Health

FRESH_FOR = timedelta(seconds=5)
"""How old an observation may be before the status is `unknown`."""

ANSWERING = timedelta(milliseconds=500)
"""How long a response may take to reach the client after the row was read."""

LEASE = timedelta(seconds=15)
"""How long a watcher stays the leader without renewing its lease."""

BETWEEN_LEASES = timedelta(seconds=15)
"""How long a watcher may still be at work after its lease ends, because it does not renew it during a long round."""

LONGEST_CLAIM = timedelta(seconds=75)
"""The longest time that an operation may hold a project: a repair of an agent that uses its whole stop timeout."""

UNPROTECTED = "firewall_missing"
"""The failure of a project whose agent may not run because the agents' firewall is not in place. The watcher starts the
agent once it is."""

LONGEST_PERIOD = timedelta(days=31)
"""The longest time that a budget stays reached: a month."""

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


class Facts(NamedTuple):
    """All facts on which the status of a project depends. A tuple, because a list creates hundreds of them a second.

    - `operation`: the one in flight; NONE if there is none or its deadline has passed.
    - `checked_at`: the last moment at which the engine reported this state.
    - `state`: None if the engine has no container.
    - `is_watched`: a watcher is at work, and starts ended agents again.
    - `kept_down`: there was a failure after which the container must not run.
    - `unprotected`: the container may not run until the agents' firewall is in place.
    - `budget_until`: when the budget that is reached is reset.
    - `seen_code`: the trouble that the gateway has seen.
    - `awaits_poll`: the gateway has not yet seen this run of the agent reach Telegram.
    - `is_refuted`: the gateway has seen the contrary of the trouble that the agent reports.
    - `lacks_tools`: the agent reports that it answers, but without all of its tools.
    - `update_step`, `update_until`: the trial of a new image (`projects.rules.status.image_update`).
    - `ready_within`: the seconds that a new image has from each start.
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
    is_watched: bool = False
    kept_down: bool = False
    unprotected: bool = False
    budget_until: datetime | None = None
    seen_code: str = ""
    awaits_poll: bool = False
    is_refuted: bool = False
    lacks_tools: bool = False
    update_step: str = ""
    update_until: datetime | None = None
    ready_within: int = 0

    @property
    def has_reached_budget(self) -> bool:
        return lasts(self.budget_until, at_most=LONGEST_PERIOD, now=self.now)

    @property
    def is_up(self) -> bool:
        return self.state in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}

    @property
    def is_being_given_up(self) -> bool:
        """Whether the watcher takes down an agent that its owner wants to run, for example after its last crash."""
        return self.operation == Operation.STOP and self.desired == Desired.RUNNING and not self.suspended


PREEMPTED_BY = {
    Operation.STOP: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART}),
    Operation.DELETE: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART, Operation.STOP}),
}
"""For each operation, the operations in flight that it may replace."""


def count_crashes(*, since: datetime | None, count: int, more: int, now: datetime) -> tuple[datetime, int]:
    """Returns the start of the crash window and its count after `more` crashes. Starts a new window if it is over."""
    if since is not None and is_recent(since, within=CRASH_WINDOW, now=now):
        return since, count + more
    return now, more


def is_crash_loop(*, exit_code: int | None, count: int) -> bool:
    """Returns whether to stop restarting: no restart helps after this exit code, or there were too many crashes."""
    return exit_code in FATAL_EXIT_CODES or count >= CRASH_LIMIT
