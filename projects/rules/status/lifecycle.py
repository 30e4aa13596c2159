"""What an owner wants of a project, what is under way, and the facts from which everything else follows."""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import TextChoices

from accounts.moments import is_recent, lasts
from containers.agent_contract import FATAL_EXIT_CODES
from containers.vocabulary import ContainerState, Health

FRESH_FOR = timedelta(seconds=5)
"""How old an observation may be before the status is `unknown`."""

ANSWERING = timedelta(milliseconds=500)
"""How long the answer may take to reach the client after the row was looked at."""

LEASE = timedelta(seconds=15)
"""How long a watcher is the only one without renewing its lease."""

BETWEEN_LEASES = timedelta(seconds=15)
"""How long after the end of its lease a watcher may still be at work: it does not renew it during a long round."""

LONGEST_CLAIM = timedelta(seconds=75)
"""How long an operation may hold a project at most: a repair of an agent that uses its whole stop timeout."""

UNPROTECTED = "firewall_missing"
"""The failure of a project whose agent may not run because the agents' firewall does not hold. The watcher starts it
once it does."""

LONGEST_PERIOD = timedelta(days=31)
"""How long a budget that is reached stays so at most: a month."""

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
    """All that the status of a project depends on. A tuple, because a list makes hundreds of them a second.

    `operation` is the one in flight: NONE where there is none or its deadline has passed. `state` is None where the
    engine has no container. `checked_at` is the last moment at which the engine had this state. `is_watched` says that
    a watcher is at work, which starts again what has ended. `kept_down` is a failure after which the container must
    not run, `unprotected` that it may not run until the agents' firewall holds. `budget_until` is when a budget that
    is reached begins anew, `seen_code` what the gateway has seen to be wrong, and `is_refuted` that it has seen the
    contrary of what the agent says is wrong. `lacks_tools`: it says that it answers, but without all of its tools.
    `awaits_poll`: the gateway has not yet seen this run of the agent reach Telegram.
    `update_step` and `update_until` tell of a new image that is tried (`projects.rules.status.image_update`),
    `ready_within` how many seconds it has from each start.
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


PREEMPTED_BY = {
    Operation.STOP: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART}),
    Operation.DELETE: frozenset({Operation.DEPLOY, Operation.START, Operation.RESTART, Operation.STOP}),
}
"""For each operation, those in flight that it may take the place of."""


def count_crashes(*, since: datetime | None, count: int, more: int, now: datetime) -> tuple[datetime, int]:
    """Returns the start of the crash window and its count after `more` crashes. A window that is over starts anew."""
    if since is not None and is_recent(since, within=CRASH_WINDOW, now=now):
        return since, count + more
    return now, more


def is_crash_loop(*, exit_code: int | None, count: int) -> bool:
    """Whether to stop restarting: no restart helps after this exit, or there were too many crashes."""
    return exit_code in FATAL_EXIT_CODES or count >= CRASH_LIMIT
