"""The remedy for a project that is not in the state that its owner wants."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.agent_contract import FATAL_EXIT_CODES
from containers.vocabulary import ContainerState, Health
from projects.rules.status.lifecycle import (
    CRASH_LIMIT,
    CRASH_WINDOW,
    Desired,
    Facts,
    Operation,
)
from projects.rules.status.remedies import Remedy, choose_remedy
from tests.projects.rules.facts import (
    ANY_FACTS,
    EXITED,
    GONE,
    MOMENT,
    MOMENTS,
    NOW,
    RETRYING,
    WELL,
    facts,
)

REMEDIES: list[tuple[Facts, dict[str, Any], Remedy | None]] = [
    (WELL, {}, None),
    (WELL, {"crash_count": CRASH_LIMIT - 1}, None),
    (WELL, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (WELL, {"outdated": True}, Remedy.BRING_BACK),
    (WELL, {"outdated": True, "crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (WELL, {"drifted": True}, Remedy.REALIGN),
    (WELL, {"drifted": True, "outdated": True}, Remedy.BRING_BACK),
    (facts(EXITED, desired=Desired.STOPPED), {"drifted": True}, Remedy.REALIGN),
    (facts(GONE, desired=Desired.STOPPED), {"drifted": True}, None),
    (WELL, {"barred": True}, Remedy.STOP_UNPROTECTED),
    (WELL, {"barred": True, "drifted": True, "outdated": True}, Remedy.STOP_UNPROTECTED),
    (facts(state=ContainerState.PAUSED), {"barred": True}, Remedy.STOP_UNPROTECTED),
    (EXITED, {"barred": True}, None),
    (GONE, {"barred": True}, None),
    (facts(desired=Desired.STOPPED), {"barred": True}, Remedy.TAKE_DOWN),
    (WELL, {"barred": True, "crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (facts(health=Health.UNHEALTHY), {}, None),
    (facts(state=ContainerState.PAUSED), {}, Remedy.BRING_BACK),
    (facts(EXITED, state=ContainerState.CREATED), {}, Remedy.BRING_BACK),
    (facts(EXITED, state=ContainerState.REMOVING), {}, None),
    (EXITED, {"crash_count": 1}, Remedy.BRING_BACK),
    (facts(EXITED, exit_code=0), {"crash_count": 1}, Remedy.BRING_BACK),
    (EXITED, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    (facts(EXITED, state=ContainerState.DEAD), {}, Remedy.BRING_BACK),
    *((facts(EXITED, exit_code=code), {"crash_count": 1}, Remedy.GIVE_UP) for code in FATAL_EXIT_CODES),
    *((facts(EXITED, exit_code=code), {"outdated": True}, Remedy.BRING_BACK) for code in FATAL_EXIT_CODES),
    (RETRYING, {"crash_count": 1}, None),
    (RETRYING, {"crash_count": CRASH_LIMIT}, Remedy.GIVE_UP),
    *((facts(RETRYING, exit_code=code), {"crash_count": 1}, Remedy.GIVE_UP) for code in FATAL_EXIT_CODES),
    (facts(update_step="copy"), {"crash_count": CRASH_LIMIT}, Remedy.UPDATE),
    (facts(EXITED, update_step="back", gave_up=True), {}, Remedy.UPDATE),
    (facts(update_step="copy", desired=Desired.STOPPED), {}, Remedy.TAKE_DOWN),
    (GONE, {}, Remedy.RECREATE),
    (GONE, {"recreated_at": NOW - CRASH_WINDOW}, Remedy.RECREATE),
    (GONE, {"recreated_at": NOW - CRASH_WINDOW + MOMENT}, Remedy.DECLARE_FAILED),
    (facts(GONE, failed=True), {}, None),
    (facts(EXITED, failed=True), {}, None),
    (facts(failed=True), {"outdated": True}, None),
    (facts(failed=True), {"crowded": True}, Remedy.TAKE_DOWN),
    (facts(), {"crowded": True}, Remedy.BRING_BACK),
    (facts(desired=Desired.STOPPED), {"crowded": True}, Remedy.TAKE_DOWN),
    (facts(desired=Desired.DELETED), {"crowded": True}, Remedy.FINISH_DELETION),
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
def test_the_remedy_follows_the_table(seen: Facts, history: dict[str, Any], remedy: Remedy | None) -> None:
    assert choose_remedy(seen, **history) == remedy


def test_every_remedy_is_in_the_table() -> None:
    assert {remedy for *_, remedy in REMEDIES} == {*Remedy, None}


@pytest.mark.parametrize(("seen", "history", "_remedy"), REMEDIES)
@pytest.mark.parametrize("operation", [operation for operation in Operation if operation])
def test_nothing_is_repaired_during_an_operation(
    seen: Facts, history: dict[str, Any], _remedy: Any, operation: Operation
) -> None:
    assert choose_remedy(seen._replace(operation=operation), **history) is None


@given(ANY_FACTS, st.integers(0, 20), MOMENTS, st.booleans(), st.booleans())
def test_remedies_follow_the_desired_state(
    known: Facts, crash_count: int, recreated_at: datetime | None, outdated: bool, crowded: bool
) -> None:
    known = known._replace(state=ContainerState.RUNNING) if crowded else known
    remedy = choose_remedy(
        known, crash_count=crash_count, recreated_at=recreated_at, outdated=outdated, crowded=crowded
    )
    if remedy in {Remedy.BRING_BACK, Remedy.RECREATE}:
        assert (known.desired, known.suspended, known.gave_up) == (Desired.RUNNING, False, False)
        assert not known.failed or known.state is not None
    if remedy == Remedy.TAKE_DOWN:
        assert known.is_up
    if known.desired == Desired.DELETED and not known.operation:
        assert remedy == Remedy.FINISH_DELETION
    if known.suspended or known.desired == Desired.STOPPED:
        assert remedy in {None, Remedy.TAKE_DOWN, Remedy.FINISH_DELETION}
