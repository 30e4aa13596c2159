"""Why a project is not well: one or two plain sentences that end with what to do."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from containers.agent_contract import ProblemCode
from containers.vocabulary import ContainerState, Health
from projects.rules.status.derivation import derive_status
from projects.rules.status.lifecycle import Desired, Facts, Operation
from projects.rules.status.reasons import explain
from projects.rules.status.sentences import SENTENCES, Outlook, write_sentence
from projects.rules.status.statuses import Status
from tests.projects.rules.explaining import code_of, reason_of
from tests.projects.rules.facts import ANY_FACTS, EXITED, GONE, RETRYING, STARTING, facts

NEXT_STEPS = (
    "Paste", "Stop", "Top it up", "Choose", "Set", "Read the log", "Start", "start", "Restart", "Ask", "tries again",
    "tried again", "until it does", "tell the staff",
)  # fmt: skip


@pytest.mark.parametrize("outlook", Outlook)
@pytest.mark.parametrize("code", SENTENCES)
def test_a_reason_is_one_or_two_plain_sentences_that_say_what_to_do(code: str, outlook: Outlook) -> None:
    message = write_sentence(code, outlook, exit_code=1, disk="1.1 GB of 1 GB", resets="1 December")
    sentences = re.split(r"(?<=[.])\s", message)
    assert len(sentences) in {1, 2}
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in sentences)
    assert any(step in sentences[-1] for step in NEXT_STEPS), message
    assert len(message) <= 140
    assert not re.search(r"[{}`<>_]|exception|errno|null|OOM|SIGKILL", message)


def test_codes_are_stable_words() -> None:
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in SENTENCES)


@pytest.mark.parametrize(
    ("known", "seen", "code"),
    [
        (GONE, {}, "vanished"),
        (facts(GONE, failed=True), {"failure_code": "vanished"}, "vanished"),
        (facts(GONE, failed=True), {"failure_code": "image_missing"}, "image_missing"),
        (facts(GONE, failed=True), {"failure_code": "name_taken"}, "name_taken"),
        (facts(GONE, failed=True), {"failure_code": "engine_refused"}, "engine_refused"),
        (facts(GONE, failed=True), {"failure_code": "of a later version"}, "engine_refused"),
        (facts(EXITED, state=ContainerState.CREATED, exit_code=0), {}, "never_started"),
        (facts(EXITED, exit_code=None), {}, "never_started"),
        (facts(checked_at=None), {}, "engine_unavailable"),
        (facts(EXITED, suspended=True), {}, "suspended"),
        (facts(state=ContainerState.PAUSED), {"agent_code": "provider_key"}, "paused"),
        (facts(health=Health.UNHEALTHY), {}, "unhealthy"),
        (facts(health=Health.UNHEALTHY, agent_state="running"), {}, "unhealthy"),
        (facts(health=Health.UNHEALTHY, agent_state="starting"), {}, "unhealthy"),
        (facts(health=Health.UNHEALTHY, seen_code="unresponsive"), {}, "unresponsive"),
        (facts(health=Health.UNHEALTHY, seen_code="telegram_token"), {}, "telegram_token"),
        (facts(health=Health.HEALTHY, seen_code="unresponsive"), {}, "unresponsive"),
        (facts(health=Health.HEALTHY, seen_code="unresponsive"), {"agent_code": "provider_busy"}, "provider_busy"),
        (facts(health=Health.NONE, agent_state="degraded"), {}, "unexplained"),
        (facts(health=Health.NONE, agent_state="failed"), {"agent_code": "of its own"}, "unexplained"),
        (facts(health=Health.NONE, agent_state="degraded"), {"agent_code": "unhealthy"}, "unexplained"),
        (facts(health=Health.UNHEALTHY, agent_state="degraded"), {"agent_code": "crash"}, "unexplained"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "provider_busy"}, "provider_busy"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "telegram_unreachable"}, "telegram_unreachable"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "suspended"}, "unhealthy"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "telegram_{exit_code}"}, "unhealthy"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "<script>"}, "unhealthy"),
        (STARTING, {"agent_code": "telegram_unreachable"}, "telegram_unreachable"),
        (facts(EXITED, exit_code=1), {"agent_code": "provider_down"}, "provider_down"),
        (facts(EXITED, exit_code=20), {"agent_code": "provider_down"}, "telegram_token"),
        (facts(EXITED, exit_code=1), {"agent_code": "image_missing"}, "crash"),
        (facts(EXITED, exit_code=1), {"agent_code": "bad_configuration"}, "bad_configuration"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "crash"}, "unhealthy"),
    ],
)
def test_every_other_failure_has_a_reason(known: Facts, seen: dict[str, Any], code: str) -> None:
    assert code_of(known, **seen) == code


def test_an_agent_that_starts_without_trouble_needs_no_reason() -> None:
    assert reason_of(STARTING) is None


def reports_trouble(agent_code: str) -> bool:
    return agent_code in set(ProblemCode) - {ProblemCode.CRASH}


@pytest.mark.parametrize(
    "known",
    [
        facts(),
        facts(EXITED, desired=Desired.STOPPED),
        facts(EXITED, operation=Operation.START),
        facts(RETRYING, operation=Operation.RESTART),
        facts(desired=Desired.DELETED),
    ],
)
def test_healthy_and_transitional_statuses_need_no_reason(known: Facts) -> None:
    assert reason_of(known, failure_code="engine_refused", agent_code="provider_key", oom_killed=True) is None


def test_the_reason_of_a_crash_loop_gives_the_number_of_crashes() -> None:
    looping = facts(EXITED, gave_up=True)
    assert reason_of(looping, crash_count=5).message.endswith("It ended 5 times within 10 minutes.")
    assert "times" not in reason_of(looping, crash_count=1).message
    assert "times" not in reason_of(EXITED, crash_count=4).message


CODES = st.sampled_from(["", *SENTENCES]) | st.text(max_size=40)


@example(facts(GONE, failed=True), "", "", False, 0)
@given(ANY_FACTS, CODES, CODES, st.booleans(), st.integers(0, 99))
def test_every_combination_of_facts_is_explained_in_berth_s_words(
    known: Facts, failure_code: str, agent_code: str, oom_killed: bool, crash_count: int
) -> None:
    status = derive_status(known)
    reason = explain(
        status,
        known,
        failure_code=failure_code,
        agent_code=agent_code,
        oom_killed=oom_killed,
        crash_count=crash_count,
    )
    needed = {each for each in Status if each.traits.reason_level != "info"} - {Status.RESTARTING}
    if known.kept_down and known.desired == Desired.RUNNING and not known.suspended and failure_code in SENTENCES:
        needed |= {Status.STOPPING}
    if not known.operation:
        needed |= {Status.RESTARTING} | ({Status.STARTING} if reports_trouble(agent_code) else set())
    assert (reason is not None) == (status in needed)
    if reason is not None:
        assert reason.message.startswith(tuple(sentence.partition("{")[0] for sentence in SENTENCES.values()))
        assert "{" not in reason.message
        assert reason.code in SENTENCES
