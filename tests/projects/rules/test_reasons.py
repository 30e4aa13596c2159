"""Why a project is not well: one plain sentence or two that end with what to do."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from containers.agent_contract import FATAL_EXIT_CODES, PROBLEMS_OF_EXIT, ProblemCode
from containers.engine import ContainerState, Health
from projects.models import Project
from projects.rules.derivation import derive_status
from projects.rules.lifecycle import Desired, Facts, Operation
from projects.rules.reasons import CODES_OF_EXIT, SENTENCES, explain
from projects.rules.statuses import Status
from projects.watcher.reconcile import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.rules.facts import ANY_FACTS, EXITED, GONE, RETRYING, facts

NEXT_STEPS = (
    "Paste", "Stop", "Top it up", "Choose", "Set", "Read the log", "Start", "start", "Restart", "Ask", "tries again",
    "answers again", "until it does", "tell the staff", "check",
)  # fmt: skip


def reason_of(known: Facts, **seen: Any) -> Any:
    evidence: dict[str, Any] = {"failure_code": "", "agent_code": "", "oom_killed": False, "crash_count": 0} | seen
    return explain(derive_status(known), known, **evidence)


STARTING = facts(health=Health.STARTING, agent_state="starting")


def code_of(known: Facts, **seen: Any) -> str | None:
    reason = reason_of(known, **seen)
    return reason.code if reason else None


# -- the words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", SENTENCES)
def test_a_reason_is_one_or_two_plain_sentences_that_say_what_to_do(code: str) -> None:
    message = SENTENCES[code].format(exit_code=1)
    sentences = re.split(r"(?<=[.])\s", message)
    assert len(sentences) in {1, 2}
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in sentences)
    assert any(step in sentences[-1] for step in NEXT_STEPS), message
    assert len(message) <= 130
    assert not re.search(r"[{}`<>_]|exception|errno|null|OOM|SIGKILL", message)


def test_codes_are_stable_words() -> None:
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in SENTENCES)


# -- exit codes -------------------------------------------------------------------------------------------------------

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
    143: "killed",
    255: "crash",
}


@pytest.mark.parametrize(("exit_code", "code"), EXITS.items())
@pytest.mark.parametrize("base", [EXITED, RETRYING], ids=["exited", "restarting"])
def test_an_exit_code_has_its_reason(base: Facts, exit_code: int, code: str) -> None:
    assert code_of(facts(base, exit_code=exit_code)) == code


def test_every_fatal_exit_code_has_a_sentence_of_its_own() -> None:
    assert set(CODES_OF_EXIT) >= FATAL_EXIT_CODES
    codes = [code for codes in CODES_OF_EXIT.values() for code in codes]
    assert len({SENTENCES[code] for code in codes}) == len(codes)


def test_exit_codes_mean_what_the_contract_says_and_every_problem_of_it_has_a_sentence() -> None:
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
def test_where_an_exit_code_may_mean_several_things_the_agents_own_report_says_which(
    agent_code: str, code: str
) -> None:
    assert code_of(facts(EXITED, exit_code=40), agent_code=agent_code) == code


@pytest.mark.parametrize("code", ["bad_configuration", "memory_unreadable"])
def test_only_a_missing_credential_is_to_be_set_again(
    project: Project, api: APIClient, engine: MemoryEngine, code: str
) -> None:
    engine.report(project.container_name, "failed", code)
    engine.crash(project.container_name, exit_code=40)
    later(project)
    detail = api.get(f"/api/projects/{project.id}").json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("crashed", code)
    assert "again, then start" not in detail["status_reason"]["message"]
    assert "token" not in detail["status_reason"]["message"]


@pytest.mark.parametrize("exit_code", [0, 1, 20, 137])
def test_out_of_memory_explains_whatever_the_exit_code_is(exit_code: int) -> None:
    assert code_of(facts(EXITED, exit_code=exit_code), oom_killed=True) == "out_of_memory"


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
        (facts(health=Health.UNHEALTHY), {}, "unresponsive"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "provider_busy"}, "provider_busy"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "telegram_unreachable"}, "telegram_unreachable"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "suspended"}, "unresponsive"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "telegram_{exit_code}"}, "unresponsive"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "<script>"}, "unresponsive"),
        (STARTING, {"agent_code": "telegram_unreachable"}, "telegram_unreachable"),
        (facts(EXITED, exit_code=1), {"agent_code": "provider_down"}, "provider_down"),
        (facts(EXITED, exit_code=20), {"agent_code": "provider_down"}, "telegram_token"),
        (facts(EXITED, exit_code=1), {"agent_code": "image_missing"}, "crash"),
        (facts(EXITED, exit_code=1), {"agent_code": "bad_configuration"}, "bad_configuration"),
        (facts(health=Health.UNHEALTHY), {"agent_code": "crash"}, "unresponsive"),
    ],
)
def test_what_else_happened_has_its_reason(known: Facts, seen: dict[str, Any], code: str) -> None:
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
def test_what_is_well_or_under_way_needs_no_reason(known: Facts) -> None:
    assert reason_of(known, failure_code="engine_refused", agent_code="provider_key", oom_killed=True) is None


def test_a_loop_says_how_often() -> None:
    looping = facts(EXITED, gave_up=True)
    assert reason_of(looping, crash_count=5).message.endswith("It ended 5 times within 10 minutes.")
    assert "times" not in reason_of(looping, crash_count=1).message
    assert "times" not in reason_of(EXITED, crash_count=4).message


CODES = st.sampled_from(["", *SENTENCES]) | st.text(max_size=40)


@example(facts(GONE, failed=True), "", "", False, 0)
@given(ANY_FACTS, CODES, CODES, st.booleans(), st.integers(0, 99))
def test_whatever_happened_is_explained_in_words_of_ours(
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
    needed = {Status.CRASHED, Status.FAILED, Status.DEGRADED, Status.SUSPENDED, Status.UNKNOWN}
    if not known.operation:
        needed |= {Status.RESTARTING} | ({Status.STARTING} if reports_trouble(agent_code) else set())
    assert (reason is not None) == (status in needed)
    if reason is not None:
        assert reason.message.startswith(tuple(sentence.partition("{")[0] for sentence in SENTENCES.values()))
        assert "{" not in reason.message
        assert reason.code in SENTENCES


# -- on the wire ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exit_code", "oom", "status", "code"),
    [(20, False, "crashed", "telegram_token"), (137, True, "restarting", "out_of_memory"), (0, False, None, "exited")],
)
def test_the_detail_tells_it(
    project: Project,
    api: APIClient,
    engine: MemoryEngine,
    exit_code: int,
    oom: bool,
    status: str | None,
    code: str,
) -> None:
    engine.crash(project.container_name, exit_code=exit_code, oom=oom, restarting=status == "restarting")
    later(project)
    detail = api.get(f"/api/projects/{project.id}").json()
    assert detail["status"] == (status or "crashed")
    reason = detail["status_reason"]
    assert set(reason) == {"code", "message", "exit_code", "oom_killed", "at", "log_tail"}
    assert (reason["code"], reason["exit_code"], reason["oom_killed"]) == (code, exit_code, oom)
    assert reason["at"].endswith("Z")


def test_a_well_project_has_no_reason(project: Project, api: APIClient) -> None:
    assert api.get(f"/api/projects/{project.id}").json()["status_reason"] is None


LINES: dict[str, str] = {
    "a NUL": "before \x00 after",
    "an escape": "\x1b[31mred\x1b[0m",
    "half a pair": "broken \ufffd",
    "very long": "x" * 10_000,
    "line separators": "a\u2028b\x0bc",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_the_end_of_the_log_is_kept_whatever_the_agent_printed(
    project: Project, deploy: Callable[..., Project], api: APIClient, engine: MemoryEngine, line: str
) -> None:
    other = deploy(telegramToken="5:other")
    engine.log(project.container_name, line)
    for crashed in (project, other):
        engine.crash(crashed.container_name, exit_code=20)
    reconcile()
    for crashed in (project, other):
        detail = api.get(f"/api/projects/{crashed.id}").json()
        assert (detail["status"], detail["status_reason"]["code"]) == ("crashed", "telegram_token")
    tail = api.get(f"/api/projects/{project.id}").json()["status_reason"]["log_tail"]
    assert tail
    assert "\x00" not in "".join(tail)


def test_a_crash_is_noted_though_the_secrets_cannot_be_read(
    project: Project, api: APIClient, engine: MemoryEngine
) -> None:
    Project.objects.filter(pk=project.pk).update(api_key_ciphertext="spoilt")
    engine.log(project.container_name, "a line that cannot be searched for secrets")
    engine.crash(project.container_name, exit_code=20)
    reconcile()
    reason = api.get(f"/api/projects/{project.id}").json()["status_reason"]
    assert (reason["code"], reason["log_tail"]) == ("telegram_token", [])


def later(project: Project) -> None:
    """So much later that a read asks the engine."""
    Project.objects.filter(pk=project.pk).update(observed_at=datetime.now(UTC) - timedelta(minutes=1))


@pytest.mark.parametrize("exit_code", [0, 1, 137])
def test_while_the_engine_tries_by_itself_nobody_is_told_to_start(exit_code: int) -> None:
    known = facts(RETRYING, exit_code=exit_code)
    reason = explain(Status.RESTARTING, known, failure_code="", agent_code="", oom_killed=False, crash_count=1)
    assert reason is not None
    assert "is tried again" in reason.message
    assert "start." not in reason.message
