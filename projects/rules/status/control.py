"""Which commands a project accepts: the control table, and the buttons that a page offers."""

from enum import Enum, auto

from projects.rules.status.lifecycle import Action, Facts, Operation
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Condition


class Verdict(Enum):
    """The outcome of a command. `NOTHING` means that it succeeds because there is nothing to do."""

    PROCEED = auto()
    NOTHING = auto()
    CONFLICT = auto()
    SUSPENDED = auto()


def judge_action(action: Action, *, status: Status, operation: Operation, suspended: bool) -> Verdict:
    """Looks the action up in the control table. `operation` is the one in flight."""
    if status == Status.DELETING:
        return Verdict.CONFLICT
    if action == Action.STOP:
        return Verdict.PROCEED
    if suspended:
        return Verdict.SUSPENDED
    if operation:
        return Verdict.CONFLICT
    if action == Action.START and status.traits.condition == Condition.UP:
        return Verdict.NOTHING
    return Verdict.PROCEED


def is_sensible(action: Action, *, status: Status, facts: Facts) -> bool:
    """Returns whether to offer the action. The service may still refuse it, because the project may have changed."""
    verdict = judge_action(action, status=status, operation=facts.operation, suspended=facts.suspended)
    stops_already = facts.operation == Operation.STOP
    return verdict == Verdict.PROCEED and action in status.traits.buttons and not stops_already
