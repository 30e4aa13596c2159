"""Why an agent ended: its exit code, its own last report, and whether memory ran out."""

import pytest

from containers.agent_contract import FATAL_EXIT_CODES, PROBLEMS_OF_EXIT, ProblemCode
from projects.rules.event_sentences import describe_event
from projects.rules.status.lifecycle import Facts
from projects.rules.status.reasons import CODES_OF_EXIT, ended_for_memory, explain
from projects.rules.status.sentences import SENTENCES
from projects.rules.status.statuses import Status
from tests.projects.rules.explaining import code_of, reason_of
from tests.projects.rules.facts import EXITED, RETRYING, facts

EXITS = {
    0: "exited",
    1: "crash",
    2: "crash",
    20: "telegram_token",
    21: "telegram_conflict",
    30: "provider_key",
    31: "provider_credit",
    32: "provider_model",
    40: "missing_secret",
    75: "telegram_unreachable",
    126: "crash",
    127: "crash",
    137: "killed",
    139: "crash",
    143: "terminated",
    247: "crash",
    255: "crash",
}


@pytest.mark.parametrize(("exit_code", "code"), EXITS.items())
@pytest.mark.parametrize("base", [EXITED, RETRYING], ids=["exited", "restarting"])
def test_every_exit_code_has_a_reason(base: Facts, exit_code: int, code: str) -> None:
    assert code_of(facts(base, exit_code=exit_code)) == code


def test_every_fatal_exit_code_has_a_separate_sentence() -> None:
    assert set(CODES_OF_EXIT) >= FATAL_EXIT_CODES
    codes = [code for codes in CODES_OF_EXIT.values() for code in codes]
    assert len({SENTENCES[code] for code in codes}) == len(codes)


def test_exit_codes_follow_the_contract_and_every_problem_has_a_sentence() -> None:
    assert CODES_OF_EXIT == PROBLEMS_OF_EXIT
    assert SENTENCES.keys() >= set(ProblemCode)


@pytest.mark.parametrize(
    ("agent_code", "code"),
    [
        ("bad_configuration", "bad_configuration"),
        ("memory_unreadable", "memory_unreadable"),
        ("missing_secret", "missing_secret"),
        ("", "missing_secret"),
        ("provider_key", "missing_secret"),
        ("of another image", "missing_secret"),
    ],
)
def test_an_ambiguous_exit_code_is_explained_by_the_agent_s_report(agent_code: str, code: str) -> None:
    assert code_of(facts(EXITED, exit_code=40), agent_code=agent_code) == code


KILLED = {137, 247}
"""128 + 9 from the kernel or a shell, and -9 from a program that passes on how its child ended."""


@pytest.mark.parametrize("agent_code", ["", "provider_down"])
@pytest.mark.parametrize("base", [EXITED, RETRYING], ids=["exited", "restarting"])
@pytest.mark.parametrize("exit_code", [*EXITS, None])
def test_out_of_memory_explains_only_the_end_by_a_kill(base: Facts, exit_code: int | None, agent_code: str) -> None:
    """Docker sets its flag once any process of the container was killed for memory, which the agent may survive."""
    known = facts(base, exit_code=exit_code, gave_up=True)
    told = code_of(known, agent_code=agent_code, oom_killed=True)
    assert told == ("out_of_memory" if exit_code in KILLED else code_of(known, agent_code=agent_code))
    assert ended_for_memory(exit_code, oom_killed=True) is (exit_code in KILLED)
    assert not ended_for_memory(exit_code, oom_killed=False)


@pytest.mark.parametrize("base", [EXITED, RETRYING], ids=["exited", "restarting"])
def test_an_unexplained_kill_lists_several_possible_causes(base: Facts) -> None:
    """An engine may miss that memory ran out if the container is gone before it reads that."""
    message = reason_of(facts(base, exit_code=137)).message
    assert "by someone or because memory ran out" in message
    assert "by someone or because memory ran out" in describe_event("crash", "killed", "")


@pytest.mark.parametrize("base", [EXITED, RETRYING], ids=["exited", "restarting"])
def test_a_requested_end_is_never_explained_by_memory(base: Facts) -> None:
    assert "memory" not in reason_of(facts(base, exit_code=143)).message
    assert describe_event("crash", "terminated", "") == "Crashed: The agent was told to end, but not by Berth"


@pytest.mark.parametrize("exit_code", [0, 1, 137])
def test_while_the_engine_restarts_it_no_start_is_advised(exit_code: int) -> None:
    known = facts(RETRYING, exit_code=exit_code)
    reason = explain(Status.RESTARTING, known, failure_code="", agent_code="", oom_killed=False, crash_count=1)
    assert reason is not None
    assert "is tried again" in reason.message
    assert "start." not in reason.message
