"""The pure rules: what a project's status is, what may be done next, and what is mended."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.agent_contract import FATAL_EXIT_CODES
from containers.engine import ContainerState, Health
from projects.rules.control import Verdict, judge_action
from projects.rules.derivation import SETTLING, WHILE_IN_FLIGHT, derive_status
from projects.rules.lifecycle import (
    CRASH_LIMIT,
    CRASH_WINDOW,
    FRESH_FOR,
    Action,
    Desired,
    Facts,
    Operation,
    count_crashes,
    is_crash_loop,
)
from projects.rules.remedies import Remedy, choose_remedy
from projects.rules.statuses import Status

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
NO_CHECK = replace(WELL, health=Health.NONE, agent_state="")
EXITED = replace(WELL, state=ContainerState.EXITED, health=Health.NONE, exit_code=1, agent_state="")
GONE = replace(WELL, state=None, health=Health.NONE, agent_state="", started_at=None)


def facts(base: Facts = WELL, **changes: Any) -> Facts:
    return replace(base, **changes)


# -- status -----------------------------------------------------------------------------------------------------------

TABLE = [
    # in flight
    (facts(GONE, operation=Operation.DEPLOY), Status.DEPLOYING),
    (facts(operation=Operation.DEPLOY), Status.DEPLOYING),
    (facts(EXITED, operation=Operation.START), Status.STARTING),
    (facts(operation=Operation.RESTART), Status.RESTARTING),
    (facts(operation=Operation.STOP, desired=Desired.STOPPED), Status.STOPPING),
    (facts(operation=Operation.STOP, suspended=True), Status.STOPPING),
    (facts(operation=Operation.DELETE, desired=Desired.DELETED), Status.DELETING),
    # deletion wins over everything
    (facts(desired=Desired.DELETED), Status.DELETING),
    (facts(GONE, desired=Desired.DELETED, checked_at=None), Status.DELETING),
    (facts(desired=Desired.DELETED, operation=Operation.STOP, suspended=True), Status.DELETING),
    # nobody knows
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
    # wanted stopped
    (facts(desired=Desired.STOPPED), Status.STOPPING),
    (facts(desired=Desired.STOPPED, state=ContainerState.PAUSED), Status.STOPPING),
    (facts(desired=Desired.STOPPED, state=ContainerState.RESTARTING), Status.STOPPING),
    (facts(EXITED, desired=Desired.STOPPED, exit_code=0), Status.STOPPED),
    (facts(EXITED, desired=Desired.STOPPED, exit_code=137), Status.STOPPED),
    (facts(GONE, desired=Desired.STOPPED), Status.STOPPED),
    (facts(GONE, desired=Desired.STOPPED, failed=True), Status.STOPPED),
    # wanted running, and up
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
    # wanted running, and down
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
def test_the_status_is_what_the_table_says(given_facts: Facts, status: Status) -> None:
    assert derive_status(given_facts) == status


def test_every_status_is_in_the_table() -> None:
    assert {status for _, status in TABLE} == set(Status)


def test_every_operation_has_its_status() -> None:
    assert set(WHILE_IN_FLIGHT) == {operation for operation in Operation if operation}


def test_fresh_is_five_seconds_and_settling_three() -> None:
    assert FRESH_FOR.total_seconds() == 5
    assert SETTLING.total_seconds() == 3


def test_what_is_settled_does_not_change_by_itself() -> None:
    passing = {Status.DEPLOYING, Status.STARTING, Status.RESTARTING, Status.STOPPING, Status.DELETING}
    assert {status for status in Status if not status.traits.is_settled} == passing


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
    assert derive_status(known) == derive_status(replace(known))


# -- the control table ------------------------------------------------------------------------------------------------

P, N, C, S = Verdict.PROCEED, Verdict.NOTHING, Verdict.CONFLICT, Verdict.SUSPENDED
CONTROL = [
    # status, operation, suspended: start, stop, restart
    (Status.RUNNING, Operation.NONE, False, N, P, P),
    (Status.STARTING, Operation.NONE, False, N, P, P),
    (Status.DEGRADED, Operation.NONE, False, N, P, P),
    (Status.STOPPED, Operation.NONE, False, P, P, P),
    (Status.CRASHED, Operation.NONE, False, P, P, P),
    (Status.FAILED, Operation.NONE, False, P, P, P),
    (Status.RESTARTING, Operation.NONE, False, P, P, P),  # between crashes
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
def test_a_command_leads_to_what_the_control_table_says(
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


# -- crashes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "count", "more", "expected"),
    [
        (None, 0, 1, (NOW, 1)),
        (None, 4, 1, (NOW, 1)),
        (NOW, 1, 1, (NOW, 2)),
        (NOW - CRASH_WINDOW, 4, 1, (NOW - CRASH_WINDOW, 5)),
        (NOW - CRASH_WINDOW - MOMENT, 4, 1, (NOW, 1)),
        (NOW - CRASH_WINDOW - MOMENT, 4, 3, (NOW, 3)),
        (LONG_AGO, 99, 7, (NOW, 7)),
    ],
)
def test_crashes_count_within_ten_minutes(
    since: datetime | None, count: int, more: int, expected: tuple[datetime, int]
) -> None:
    assert count_crashes(since=since, count=count, more=more, now=NOW) == expected


@pytest.mark.parametrize("exit_code", [None, *range(256)])
def test_five_crashes_are_a_loop_and_a_fatal_exit_is_at_once(exit_code: int | None) -> None:
    fatal = exit_code in {20, 21, 30, 31, 32, 40}
    assert [is_crash_loop(exit_code=exit_code, count=count) for count in (0, 1, 4, 5, 6)] == [fatal] * 3 + [True] * 2


def test_a_loop_is_five_crashes_in_ten_minutes() -> None:
    assert CRASH_LIMIT == 5
    assert CRASH_WINDOW.total_seconds() == 600


# -- remedies ---------------------------------------------------------------------------------------------------------

RETRYING = facts(EXITED, state=ContainerState.RESTARTING)
REMEDIES: list[tuple[Facts, dict[str, Any], Remedy | None]] = [
    (WELL, {}, None),
    (WELL, {"crash_count": CRASH_LIMIT - 1}, None),
    (WELL, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (WELL, {"outdated": True}, Remedy.BRING_BACK),
    (WELL, {"outdated": True, "crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (facts(health=Health.UNHEALTHY), {}, None),
    (facts(state=ContainerState.PAUSED), {}, Remedy.BRING_BACK),
    (facts(EXITED, state=ContainerState.CREATED), {}, Remedy.BRING_BACK),
    (facts(EXITED, state=ContainerState.REMOVING), {}, None),
    (EXITED, {"crash_count": 1}, Remedy.BRING_BACK),
    (facts(EXITED, exit_code=0), {"crash_count": 1}, Remedy.BRING_BACK),
    (EXITED, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (facts(EXITED, state=ContainerState.DEAD), {}, Remedy.BRING_BACK),
    *((facts(EXITED, exit_code=code), {"crash_count": 1}, Remedy.GIVE_UP) for code in FATAL_EXIT_CODES),
    (RETRYING, {"crash_count": 1}, None),
    (RETRYING, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    *((facts(RETRYING, exit_code=code), {"crash_count": 1}, Remedy.GIVE_UP) for code in FATAL_EXIT_CODES),
    (GONE, {}, Remedy.RECREATE),
    (GONE, {"recreated_at": NOW - CRASH_WINDOW}, Remedy.RECREATE),
    (GONE, {"recreated_at": NOW - CRASH_WINDOW + MOMENT}, Remedy.DECLARE_FAILED),
    (facts(GONE, failed=True), {}, None),
    (facts(EXITED, failed=True), {}, None),
    (facts(EXITED, gave_up=True), {}, None),
    (facts(RETRYING, gave_up=True), {}, Remedy.TAKE_DOWN),
    (facts(gave_up=True), {}, Remedy.TAKE_DOWN),
    (facts(desired=Desired.STOPPED), {}, Remedy.TAKE_DOWN),
    (facts(RETRYING, desired=Desired.STOPPED), {}, Remedy.TAKE_DOWN),
    (facts(state=ContainerState.PAUSED, desired=Desired.STOPPED), {}, Remedy.TAKE_DOWN),
    (facts(EXITED, desired=Desired.STOPPED), {}, None),
    (facts(GONE, desired=Desired.STOPPED), {}, None),
    (facts(suspended=True), {}, Remedy.TAKE_DOWN),
    (facts(EXITED, suspended=True), {}, None),
    (facts(GONE, suspended=True), {}, None),
    (facts(desired=Desired.DELETED), {}, Remedy.FINISH_DELETION),
    (facts(GONE, desired=Desired.DELETED, failed=True, suspended=True), {}, Remedy.FINISH_DELETION),
]


@pytest.mark.parametrize(("seen", "history", "remedy"), REMEDIES)
def test_the_remedy_is_what_the_table_says(seen: Facts, history: dict[str, Any], remedy: Remedy | None) -> None:
    assert choose_remedy(seen, **history) == remedy


def test_every_remedy_is_in_the_table() -> None:
    assert {remedy for *_, remedy in REMEDIES} == {*Remedy, None}


@pytest.mark.parametrize(("seen", "history", "_remedy"), REMEDIES)
@pytest.mark.parametrize("operation", [operation for operation in Operation if operation])
def test_nothing_is_mended_while_an_operation_is_in_flight(
    seen: Facts, history: dict[str, Any], _remedy: Any, operation: Operation
) -> None:
    assert choose_remedy(replace(seen, operation=operation), **history) is None


@given(ANY_FACTS, st.integers(0, 20), MOMENTS, st.booleans())
def test_remedies_follow_what_is_wanted(
    known: Facts, crash_count: int, recreated_at: datetime | None, outdated: bool
) -> None:
    remedy = choose_remedy(known, crash_count=crash_count, recreated_at=recreated_at, outdated=outdated)
    if remedy in {Remedy.BRING_BACK, Remedy.RECREATE}:
        assert (known.desired, known.suspended, known.gave_up) == (Desired.RUNNING, False, False)
        assert not known.failed or known.state is not None
    if remedy == Remedy.TAKE_DOWN:
        assert known.is_up
    if known.desired == Desired.DELETED and not known.operation:
        assert remedy == Remedy.FINISH_DELETION
    if known.suspended or known.desired == Desired.STOPPED:
        assert remedy in {None, Remedy.TAKE_DOWN, Remedy.FINISH_DELETION}


@given(ANY_FACTS)
def test_up_is_what_may_have_processes(known: Facts) -> None:
    assert known.is_up == (known.state not in DOWN)
