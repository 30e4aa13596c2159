"""Judges from trial runs whether an image keeps the agent contract. Pure rules."""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import NamedTuple

from containers.agent_contract import DATA_PATH, PROBLEMS_OF_EXIT, AgentState, ExitCode
from containers.agent_text import clean
from containers.engine.trials import TrialRun
from projects.rules.status.reasons import ended_for_memory

STOP_WITHIN = 5
"""Seconds within which an agent must end after SIGTERM."""

_READ_ONLY = ("read-only file system", "erofs")
_SHOWN = 160


class Verdict(StrEnum):
    KEPT = "yes"
    BROKEN = "no"
    NOT_PROMISED = "n/a"
    """The image does not declare the contract, or its type needs no such credential, so nothing depends on this."""


class Line(NamedTuple):
    promise: str
    verdict: Verdict
    detail: str = ""


class Runs(NamedTuple):
    """The trial runs: `well` with good credentials, the others with a refused bot token or API key.

    A run is None if the type does not need the credential.
    """

    well: TrialRun
    bad_token: TrialRun | None = None
    bad_key: TrialRun | None = None


class TrialConditions(NamedTuple):
    """The conditions of the runs. `within` is in seconds, and `user` is the user id of the container."""

    within: float
    user: int
    secrets: Collection[str]
    has_contract: bool
    needs_telegram_token: bool


def judge_runs(runs: Runs, conditions: TrialConditions) -> list[Line]:
    """Returns a line for each promise of the contract, or only the first one if the image does not start."""
    well = runs.well
    if well.refusal:
        return [Line("starts, confined as agents are", Verdict.BROKEN, well.refusal)]
    lines = [Line("starts, confined as agents are", Verdict.KEPT), _ready(well, conditions)]
    if conditions.needs_telegram_token:
        lines.append(_answers(well, conditions))
    lines += [_reports(well, conditions), _user(well, conditions), _writes(well), _secrecy(runs, conditions)]
    if well.exit_code is None:
        lines.append(_stops(well, conditions))
    return lines + list(_refusals(runs, conditions))


def _ready(run: TrialRun, conditions: TrialConditions) -> Line:
    promise = "becomes ready"
    if run.ready_after is not None:
        return Line(promise, Verdict.KEPT, f"after {run.ready_after:.1f} s")
    if run.exit_code is not None:
        return Line(promise, Verdict.BROKEN, _describe_end(run))
    return Line(promise, Verdict.BROKEN, f"not within {conditions.within:.0f} s{_last_words(run)}")


def _answers(run: TrialRun, conditions: TrialConditions) -> Line:
    promise = "answers a message"
    if run.answered_after is not None:
        return Line(promise, Verdict.KEPT, f"after {run.answered_after:.1f} s: “{clean(run.answer)[:_SHOWN]}”")
    reason = f"not within {conditions.within:.0f} s" if run.exit_code is None else "it ended"
    return Line(promise, Verdict.BROKEN, reason)


def _reports(run: TrialRun, conditions: TrialConditions) -> Line:
    promise = "reports its state (AGENT-STATUS)"
    if run.report is None:
        return Line(promise, _owed(conditions), "it prints no report")
    is_kept = run.report.state in {AgentState.RUNNING, AgentState.STOPPED}
    state = f"{run.report.state} {run.report.code}".strip()
    return Line(promise, Verdict.KEPT if is_kept else Verdict.BROKEN, f"its last report is {state}")


def _user(run: TrialRun, conditions: TrialConditions) -> Line:
    promise = "runs as the project's own user"
    if not run.users:
        return Line(promise, Verdict.NOT_PROMISED, "the engine does not say")
    others = sorted(run.users - {conditions.user})
    if others:
        return Line(promise, Verdict.BROKEN, f"also as {', '.join(map(str, others))}")
    return Line(promise, Verdict.KEPT, str(conditions.user))


def _writes(run: TrialRun) -> Line:
    promise = f"writes only to {DATA_PATH}, /run/agent and /tmp"
    if run.volumes:
        return Line(promise, Verdict.BROKEN, f"the image declares volumes of its own: {clean(', '.join(run.volumes))}")
    refused = [line for line in run.lines if any(sign in line.lower() for sign in _READ_ONLY)]
    if refused:
        return Line(promise, Verdict.BROKEN, f"it tried elsewhere: {clean(refused[-1])[:_SHOWN]}")
    return Line(promise, Verdict.KEPT)


def _secrecy(runs: Runs, conditions: TrialConditions) -> Line:
    promise = "prints no credential"
    printed = [line for run in runs if run for line in run.lines]
    if any(secret in line for line in printed for secret in conditions.secrets):
        return Line(promise, Verdict.BROKEN, "one of them is in its log")
    return Line(promise, Verdict.KEPT)


def _stops(run: TrialRun, conditions: TrialConditions) -> Line:
    promise = f"ends within {STOP_WITHIN} s of SIGTERM with exit code 0"
    within = run.stopped_within or 0.0
    if run.stop_code == ExitCode.STOPPED and within <= STOP_WITHIN:
        return Line(promise, Verdict.KEPT, f"after {within:.1f} s")
    killed = " (killed)" if run.stop_code == 137 else ""
    return Line(promise, _owed(conditions), f"after {within:.1f} s with exit code {run.stop_code}{killed}")


def _refusals(runs: Runs, conditions: TrialConditions) -> Iterator[Line]:
    for run, what, code in (
        (runs.bad_token, "bot token", ExitCode.TELEGRAM_TOKEN),
        (runs.bad_key, "API key", ExitCode.PROVIDER_KEY),
    ):
        promise = f"ends with exit code {code.value} if the {what} is refused"
        if run is None:
            yield Line(promise, Verdict.NOT_PROMISED, "the type needs none")
        elif run.exit_code == code:
            yield Line(promise, Verdict.KEPT)
        else:
            yield Line(promise, _owed(conditions), _describe_end(run))


def _owed(conditions: TrialConditions) -> Verdict:
    return Verdict.BROKEN if conditions.has_contract else Verdict.NOT_PROMISED


def _describe_end(run: TrialRun) -> str:
    if run.refusal:
        return run.refusal
    if ended_for_memory(run.exit_code, oom_killed=run.is_out_of_memory):
        return "it needs more memory than the type's minimum"
    if run.exit_code is None:
        return f"it keeps running{_last_words(run)}"
    problems = PROBLEMS_OF_EXIT.get(ExitCode(run.exit_code)) if run.exit_code in set(ExitCode) else None
    meaning = f" ({problems[0].value})" if problems else ""
    return f"it ended with exit code {run.exit_code}{meaning}{_last_words(run)}"


def _last_words(run: TrialRun) -> str:
    last = next((line for line in reversed(run.lines) if line.strip()), "")
    return f". Its last line: {clean(last)[:_SHOWN]}" if last else ""
