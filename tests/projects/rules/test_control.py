"""The result of each command in each status."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.rules.status.control import Verdict, judge_action
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import (
    Action,
    Desired,
    Facts,
    Operation,
)
from projects.rules.status.statuses import Status
from tests.projects.rules.facts import ANY_FACTS

P, N, C, S = Verdict.PROCEED, Verdict.NOTHING, Verdict.CONFLICT, Verdict.SUSPENDED
CONTROL = [
    # status, operation, suspended: start, stop, restart
    (Status.RUNNING, Operation.NONE, False, N, P, P),
    (Status.STARTING, Operation.NONE, False, N, P, P),
    (Status.DEGRADED, Operation.NONE, False, N, P, P),
    (Status.STOPPED, Operation.NONE, False, P, P, P),
    (Status.CRASHED, Operation.NONE, False, P, P, P),
    (Status.FAILED, Operation.NONE, False, P, P, P),
    (
        Status.RESTARTING,
        Operation.NONE,
        False,
        P,
        P,
        P,
    ),  # between crashes recorded while the engine was silent the engine is asked, and says so itself
    (Status.STOPPING, Operation.NONE, False, P, P, P),  # recorded while the engine was silent
    (Status.UNKNOWN, Operation.NONE, False, P, P, P),  # the engine is asked, and says so itself
    (Status.DEPLOYING, Operation.DEPLOY, False, C, P, C),
    (Status.STARTING, Operation.START, False, C, P, C),
    (Status.RESTARTING, Operation.RESTART, False, C, P, C),
    (Status.STOPPING, Operation.STOP, False, C, P, C),
    (Status.SUSPENDED, Operation.NONE, True, S, P, S),
    (Status.STOPPING, Operation.NONE, True, S, P, S),
    (Status.STOPPING, Operation.STOP, True, S, P, S),
    (Status.UNKNOWN, Operation.NONE, True, S, P, S),
    (Status.DELETING, Operation.NONE, False, C, C, C),
    (Status.DELETING, Operation.DELETE, False, C, C, C),
    (Status.DELETING, Operation.DELETE, True, C, C, C),
]


@pytest.mark.parametrize(("status", "operation", "suspended", "start", "stop", "restart"), CONTROL)
def test_a_command_has_the_effect_of_the_control_table(
    status: Status, operation: Operation, suspended: bool, start: Verdict, stop: Verdict, restart: Verdict
) -> None:
    verdicts = [judge_action(action, status=status, operation=operation, suspended=suspended) for action in Action]
    assert verdicts == [start, stop, restart]


def test_the_control_table_has_every_status() -> None:
    assert {row[0] for row in CONTROL} == set(Status)


@given(st.sampled_from(Action), ANY_FACTS)
def test_every_command_has_a_verdict(action: Action, known: Facts) -> None:
    verdict = judge_action(action, status=derive_status(known), operation=known.operation, suspended=known.suspended)
    if action == Action.STOP and known.desired != Desired.DELETED and known.operation != Operation.DELETE:
        assert verdict == Verdict.PROCEED
    if verdict == Verdict.NOTHING:
        assert action == Action.START
        assert known.is_up
    if known.suspended and action != Action.STOP:
        assert verdict in {Verdict.SUSPENDED, Verdict.CONFLICT}
