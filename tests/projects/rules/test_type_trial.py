"""The table of a trial: each promise, judged by the results of the runs."""

from dataclasses import replace
from typing import Any

import pytest

from containers.engine.trials import TrialRun
from containers.vocabulary import AgentReport
from projects.rules.type_trial import Runs, TrialConditions, Verdict, judge_runs

pytestmark = pytest.mark.one_database

CONDITIONS = TrialConditions(within=14, user=7, secrets=["1:token"], has_contract=True, needs_telegram_token=True)
WELL = TrialRun(
    ready_after=1, answered_after=2, answer="Ahoy", stop_code=0, stopped_within=1,
    report=AgentReport(state="running"), users=frozenset({7}), lines=("It runs.",),
)  # fmt: skip
RUNS = Runs(WELL, TrialRun(exit_code=20), TrialRun(exit_code=30))


def broken(runs: Runs, asked: TrialConditions = CONDITIONS) -> list[str]:
    return [f"{line.promise}: {line.detail}" for line in judge_runs(runs, asked) if line.verdict is Verdict.BROKEN]


def test_an_image_that_keeps_all_breaks_nothing() -> None:
    assert [line.verdict for line in judge_runs(RUNS, CONDITIONS)] == [Verdict.KEPT] * 10


@pytest.mark.parametrize(
    ("change", "promise", "detail"),
    [
        ({"ready_after": None}, "becomes ready", "not within 14 s. Its last line: It runs."),
        ({"ready_after": None, "exit_code": 40}, "becomes ready", "exit code 40 (missing_secret)"),
        ({"ready_after": None, "exit_code": 137, "is_out_of_memory": True}, "becomes ready", "needs more memory"),
        ({"ready_after": None, "exit_code": 1, "is_out_of_memory": True}, "becomes ready", "exit code 1. Its"),
        ({"ready_after": None, "exit_code": 99}, "becomes ready", "exit code 99. Its"),
        ({"answered_after": None}, "answers a message", "not within 14 s"),
        ({"report": None}, "reports its state", "prints no report"),
        ({"report": AgentReport(state="degraded", code="provider_key")}, "reports its state", "degraded provider_key"),
        ({"users": frozenset({7, 0})}, "own user", "also as 0"),
        ({"volumes": ("/var/lib/mine",)}, "writes only", "/var/lib/mine"),
        ({"lines": ("OSError: [Errno 30] Read-only file system: '/x'",)}, "writes only", "tried elsewhere"),
        ({"lines": ("bot 1:token starts",)}, "prints no credential", "in its log"),
        ({"stop_code": 143}, "ends within 5 s", "exit code 143"),
        ({"stop_code": 137, "stopped_within": 5.1}, "ends within 5 s", "after 5.1 s with exit code 137 (killed)"),
        ({"stopped_within": 6.0}, "ends within 5 s", "after 6.0 s with exit code 0"),
        ({"refusal": "No such file."}, "starts", "No such file."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_broken_promise_is_explained_in_its_line(change: dict[str, Any], promise: str, detail: str) -> None:
    found = broken(RUNS._replace(well=replace(WELL, **change)))
    assert [line for line in found if promise in line and detail in line], found


@pytest.mark.parametrize(("field", "code"), [("bad_token", 20), ("bad_key", 30)])
@pytest.mark.parametrize("run", [TrialRun(), TrialRun(exit_code=1), TrialRun(exit_code=75), TrialRun(refusal="No.")])
def test_a_refused_credential_has_a_separate_exit_code(field: str, code: int, run: TrialRun) -> None:
    [line] = broken(RUNS._replace(**{field: run}))
    assert line.startswith(f"ends with exit code {code} if")


def test_an_image_outside_the_contract_must_meet_only_the_essentials() -> None:
    plain = Runs(replace(WELL, report=None, stop_code=143), TrialRun(), TrialRun(exit_code=1))
    assert broken(plain, CONDITIONS._replace(has_contract=False)) == []
    silent = Runs(replace(plain.well, answered_after=None), *plain[1:])
    assert len(broken(silent, CONDITIONS._replace(has_contract=False))) == 1


def test_credentials_that_the_type_does_not_need_are_not_required() -> None:
    lines = judge_runs(Runs(replace(WELL, answered_after=None)), CONDITIONS._replace(needs_telegram_token=False))
    assert not [line for line in lines if line.verdict is Verdict.BROKEN]
    assert [line.verdict for line in lines[-2:]] == [Verdict.NOT_PROMISED] * 2
