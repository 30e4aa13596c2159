"""What a reason advises fits its status: it asks for a start only if that helps, and promises none that never comes."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from containers.agent_contract import FATAL_EXIT_CODES, ProblemCode
from containers.vocabulary import ContainerState, Health
from projects.models.columns.facts import KEPT_DOWN
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Facts
from projects.rules.status.statuses import Status
from projects.rules.status.waiting import WAITING
from projects.services.operations import _FAILURE_CODES
from tests.projects.rules.explaining import reason_of
from tests.projects.rules.facts import EXITED, GONE, NOW, facts

EXITS = (None, 0, 1, 75, 137, 143, *sorted(FATAL_EXIT_CODES))
FAILURES = KEPT_DOWN | {code for _, code in _FAILURE_CODES} | {"engine_refused", "vanished", "copy_not_returned"}
SEEN: list[dict[str, Any]] = [
    {"health": Health.UNHEALTHY},
    {"health": Health.STARTING},
    {"budget_until": NOW + timedelta(hours=1)},
    {"seen_code": "source_address"},
    {"seen_code": "telegram_token"},
]

START, RESTART = r"\b[Ss]tart\b", r"\b[Rr]estart\b"
BY_ITSELF = r"tries again|tried again|starts|resets on"
NOTHING_TO_DO = r"Set a valid key, or remove"
EXPECTED = {
    Status.DEGRADED: (f"{RESTART}|tries again|resets on|{NOTHING_TO_DO}", f"{START}|tried again"),
    Status.STARTING: (f"{RESTART}|tries again|{NOTHING_TO_DO}", f"{START}|tried again"),
    Status.RESTARTING: (BY_ITSELF, f"{START}|{RESTART}|tries again"),
    Status.CRASHED: (START, f"{RESTART}|tries again|tried again|starts"),
    Status.FAILED: (START, f"{RESTART}|tries again|tried again|starts"),
}
"""What the reason of a status must say, and what it must not say."""


def every_explained_case() -> Iterator[tuple[Status, str, str]]:
    """Yields status, code and message for each state of a container, how it ended, and what is known of it."""
    flags = product([False, True], repeat=4)
    for state, exit_code, (gave_up, is_watched, unprotected, oom) in product(ContainerState, EXITS, flags):
        ended = facts(EXITED, state=state, exit_code=exit_code, gave_up=gave_up, is_watched=is_watched)
        for agent_code, seen in product(["", *WAITING, *ProblemCode], SEEN):
            known = ended._replace(unprotected=unprotected, **seen)
            yield from explained(known, agent_code=str(agent_code), oom_killed=oom, crash_count=5)
    for code in FAILURES:
        yield from explained(facts(GONE, failed=True, kept_down=code in KEPT_DOWN), failure_code=code)


def explained(known: Facts, **seen: Any) -> Iterator[tuple[Status, str, str]]:
    reason = reason_of(known, **seen)
    if reason is not None:
        yield derive_status(known), reason.code, reason.message


def test_no_reason_contradicts_its_status() -> None:
    cases = set(every_explained_case())
    assert {status for status, _, _ in cases} == set(EXPECTED)
    for status, code, message in sorted(cases):
        must, must_not = EXPECTED[status]
        assert re.search(must, message), (status, code, message)
        assert not re.search(must_not, message), (status, code, message)


@pytest.mark.parametrize("code", ["telegram_unreachable", "provider_busy", "provider_down"])
@pytest.mark.parametrize(
    ("known", "end"),
    [
        (facts(EXITED, gave_up=True), ", then start. It ended 5 times within 10 minutes."),
        (facts(EXITED, is_watched=True), "; it is tried again."),
        (facts(health=Health.UNHEALTHY), "; the agent tries again."),
    ],
    ids=["given up", "tried again", "runs"],
)
def test_passing_trouble_asks_for_a_start_only_once_nothing_tries_again(known: Facts, end: str, code: str) -> None:
    assert reason_of(known, agent_code=code, crash_count=5).message.endswith(end)
