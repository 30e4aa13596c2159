"""Which status follows from the facts."""

from datetime import timedelta

import pytest
from hypothesis import given

from containers.agent_contract import FATAL_EXIT_CODES
from containers.vocabulary import ContainerState, Health
from projects.rules.status.derivation import SETTLING, WHILE_IN_FLIGHT, derive_status
from projects.rules.status.lifecycle import (
    FRESH_FOR,
    Desired,
    Facts,
    Operation,
)
from projects.rules.status.statuses import Status
from tests.projects.rules.facts import (
    ANY_FACTS,
    EXITED,
    GONE,
    LONG_AGO,
    MOMENT,
    NO_CHECK,
    NOW,
    UP,
    WELL,
    facts,
)

TABLE = [
    # in flight
    (facts(GONE, operation=Operation.DEPLOY), Status.DEPLOYING),
    (facts(operation=Operation.DEPLOY), Status.DEPLOYING),
    (facts(EXITED, operation=Operation.START), Status.STARTING),
    (facts(operation=Operation.RESTART), Status.RESTARTING),
    (facts(operation=Operation.STOP, desired=Desired.STOPPED), Status.STOPPING),
    (facts(operation=Operation.STOP, suspended=True), Status.STOPPING),
    (facts(operation=Operation.DELETE, desired=Desired.DELETED), Status.DELETING),
    # deletion takes precedence
    (facts(desired=Desired.DELETED), Status.DELETING),
    (facts(GONE, desired=Desired.DELETED, checked_at=None), Status.DELETING),
    (facts(desired=Desired.DELETED, operation=Operation.STOP, suspended=True), Status.DELETING),
    # nothing is known
    (facts(checked_at=None), Status.UNKNOWN),
    (facts(checked_at=NOW - FRESH_FOR - MOMENT), Status.UNKNOWN),
    (facts(checked_at=LONG_AGO, suspended=True), Status.UNKNOWN),
    (facts(checked_at=LONG_AGO, desired=Desired.STOPPED), Status.UNKNOWN),
    (facts(checked_at=LONG_AGO, operation=Operation.START), Status.STARTING),
    # as fresh as promised
    (facts(checked_at=NOW - FRESH_FOR), Status.RUNNING),
    (facts(checked_at=NOW + timedelta(seconds=1)), Status.RUNNING),
    # suspended
    (facts(suspended=True), Status.STOPPING),
    (facts(EXITED, suspended=True), Status.SUSPENDED),
    (facts(GONE, suspended=True), Status.SUSPENDED),
    (facts(GONE, suspended=True, desired=Desired.STOPPED, failed=True), Status.SUSPENDED),
    # should be stopped
    (facts(desired=Desired.STOPPED), Status.STOPPING),
    (facts(desired=Desired.STOPPED, state=ContainerState.PAUSED), Status.STOPPING),
    (facts(desired=Desired.STOPPED, state=ContainerState.RESTARTING), Status.STOPPING),
    (facts(EXITED, desired=Desired.STOPPED, exit_code=0), Status.STOPPED),
    (facts(EXITED, desired=Desired.STOPPED, exit_code=137), Status.STOPPED),
    (facts(GONE, desired=Desired.STOPPED), Status.STOPPED),
    (facts(GONE, desired=Desired.STOPPED, failed=True), Status.STOPPED),
    # should run, and is up
    (WELL, Status.RUNNING),
    (facts(agent_state="degraded"), Status.RUNNING),  # the health check has passed since
    (facts(health=Health.STARTING, agent_state="starting", started_at=NOW), Status.STARTING),
    (facts(health=Health.STARTING, agent_state="starting", started_at=NOW - timedelta(seconds=2)), Status.STARTING),
    (facts(health=Health.STARTING, agent_state="running"), Status.RUNNING),
    (facts(health=Health.STARTING, agent_state="degraded"), Status.DEGRADED),
    (facts(health=Health.UNHEALTHY), Status.DEGRADED),
    (facts(health=Health.UNHEALTHY, agent_state="running"), Status.DEGRADED),
    (facts(NO_CHECK, agent_state="degraded"), Status.DEGRADED),
    (facts(NO_CHECK, agent_state="failed"), Status.DEGRADED),
    (facts(NO_CHECK, agent_state="running", started_at=NOW), Status.RUNNING),
    (facts(NO_CHECK, started_at=NOW - SETTLING + MOMENT), Status.STARTING),
    (facts(NO_CHECK, started_at=NOW - SETTLING), Status.RUNNING),
    (facts(NO_CHECK, started_at=None), Status.STARTING),
    (facts(NO_CHECK, started_at=NOW + timedelta(seconds=1)), Status.STARTING),
    (facts(state=ContainerState.PAUSED), Status.DEGRADED),
    # should run, and is down
    (facts(EXITED, state=ContainerState.RESTARTING), Status.RESTARTING),
    (facts(EXITED, state=ContainerState.RESTARTING, gave_up=True), Status.CRASHED),
    (facts(EXITED, state=ContainerState.RESTARTING, exit_code=75), Status.RESTARTING),
    *((facts(EXITED, state=ContainerState.RESTARTING, exit_code=code), Status.CRASHED) for code in FATAL_EXIT_CODES),
    (EXITED, Status.CRASHED),
    (facts(EXITED, exit_code=0), Status.CRASHED),
    (facts(EXITED, exit_code=None), Status.CRASHED),
    (facts(EXITED, gave_up=True), Status.CRASHED),
    (facts(EXITED, state=ContainerState.CREATED), Status.CRASHED),
    (facts(EXITED, state=ContainerState.DEAD), Status.CRASHED),
    (facts(EXITED, state=ContainerState.REMOVING), Status.CRASHED),
    (facts(EXITED, failed=True), Status.FAILED),
    (facts(GONE, failed=True), Status.FAILED),
    (GONE, Status.CRASHED),
]


@pytest.mark.parametrize(("given_facts", "status"), TABLE)
def test_the_status_follows_the_table(given_facts: Facts, status: Status) -> None:
    assert derive_status(given_facts) == status


def test_every_status_is_in_the_table() -> None:
    assert {status for _, status in TABLE} == set(Status)


def test_every_operation_has_its_status() -> None:
    assert set(WHILE_IN_FLIGHT) == {operation for operation in Operation if operation}


def test_fresh_is_five_seconds_and_settling_three() -> None:
    assert FRESH_FOR.total_seconds() == 5
    assert SETTLING.total_seconds() == 3


def test_a_settled_status_does_not_change_by_itself() -> None:
    passing = {Status.DEPLOYING, Status.STARTING, Status.RESTARTING, Status.STOPPING, Status.DELETING}
    assert {status for status in Status if not status.traits.is_settled} == passing


@given(ANY_FACTS)
def test_all_facts_have_a_status_and_it_never_lies(known: Facts) -> None:
    status = derive_status(known)
    deleted = known.desired == Desired.DELETED
    fresh = known.checked_at is not None and NOW - known.checked_at <= FRESH_FOR
    claimed = bool(known.operation) or deleted
    up = known.state in UP
    assert (status == Status.UNKNOWN) == (not fresh and not claimed)
    if known.operation and not deleted:
        assert status == WHILE_IN_FLIGHT[known.operation]
    assert status != Status.DELETING or deleted or known.operation == Operation.DELETE
    if status == Status.RUNNING:
        assert (known.state, known.desired, known.suspended) == (ContainerState.RUNNING, Desired.RUNNING, False)
        assert known.health != Health.UNHEALTHY
    if status in {Status.STOPPED, Status.SUSPENDED, Status.FAILED}:
        assert not up
    if status == Status.SUSPENDED:
        assert known.suspended
    if status in {Status.CRASHED, Status.FAILED, Status.DEGRADED}:
        assert known.desired == Desired.RUNNING
    if status == Status.CRASHED:
        assert known.state != ContainerState.RUNNING
    if status == Status.DEPLOYING:
        assert known.operation == Operation.DEPLOY


@given(ANY_FACTS)
def test_the_status_depends_on_nothing_but_the_facts(known: Facts) -> None:
    assert derive_status(known) == derive_status(known._replace())
