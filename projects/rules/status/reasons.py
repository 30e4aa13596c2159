"""Explains in one sentence why a project is not well, from the exit code, the OOM flag and the agent's report."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from containers.agent_contract import PROBLEMS_OF_EXIT, ProblemCode
from projects.rules.periods import name_day
from projects.rules.status.lifecycle import UNPROTECTED, Desired, Facts
from projects.rules.status.sentences import BUDGET_REACHED, SENTENCES, Outlook, write_sentence
from projects.rules.status.sightings import SOURCE_ADDRESS, UNRESPONSIVE
from projects.rules.status.statuses import Status
from projects.rules.status.waiting import WAITING

CODES_OF_EXIT = {int(exit_code): tuple(map(str, problems)) for exit_code, problems in PROBLEMS_OF_EXIT.items()}
REPORTED_CODES = frozenset(map(str, ProblemCode)) - {str(ProblemCode.CRASH)}
"""The codes that an agent may report. Only the engine reports a crash."""

_ENDING_CODES = REPORTED_CODES - {str(ProblemCode.TOOLS_REFUSED)}
"""The codes for which an agent may have ended."""

_BLAMES_OTHERS = frozenset({"telegram_token", "telegram_unreachable", "provider_key", "provider_down"})
"""The codes that an agent reports by mistake if the gateway refuses its requests."""

_BY_SIGNAL = {137: "killed", 143: "terminated"}  # SIGKILL, also sent when memory runs out, and SIGTERM

_KILLED_FOR_MEMORY = frozenset({137, 247})
"""The exit codes of SIGKILL: 128 + 9, from the kernel or a shell, and -9, from a program that passes on its child's."""


_RUNS = {Status.DEGRADED: Outlook.RUNS, Status.STARTING: Outlook.RUNS, Status.RESTARTING: Outlook.TRIED_AGAIN}
_OUTLOOKS = {status: _RUNS.get(status, Outlook.DOWN) for status in Status}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    code: str
    message: str


class StatusReason(TypedDict):
    """`status_reason` in the API; `log_tail` has the last 20 lines, without credentials."""

    code: str
    message: str
    exit_code: int | None
    oom_killed: bool
    at: datetime | None
    log_tail: list[str]


def explain(
    status: Status,
    facts: Facts,
    *,
    failure_code: str,
    agent_code: str,
    oom_killed: bool,
    crash_count: int,
    disk: str = "",
    suspended_because: str = "",
) -> Reason | None:
    """Returns the reason for the status, or None if there is nothing to explain.

    `disk` says in words how much disk space the agent uses; `suspended_because` is the staff's reason for the owner.
    """
    code = _code(status, facts, failure_code=failure_code, agent_code=agent_code, oom_killed=oom_killed)
    if code is None:
        return None
    resets = name_day(facts.budget_until) if facts.budget_until else ""
    message = write_sentence(code, _OUTLOOKS[status], exit_code=facts.exit_code, disk=disk, resets=resets)
    if status == Status.SUSPENDED and suspended_because:
        because = suspended_because if suspended_because[-1] in ".!?" else f"{suspended_because}."
        message = f"The staff suspended this project: {because} Ask them to lift the suspension."
    if status == Status.CRASHED and facts.gave_up and crash_count > 1:
        message = f"{message} It ended {crash_count} times within 10 minutes."
    return Reason(code=code, message=message)


def _code(status: Status, facts: Facts, *, failure_code: str, agent_code: str, oom_killed: bool) -> str | None:
    code: str | None = None
    match status:
        case Status.UNKNOWN:
            code = "engine_unavailable"
        case Status.SUSPENDED:
            code = "suspended"
        case Status.FAILED:
            code = failure_code if failure_code in SENTENCES else "engine_refused"
        case Status.STOPPING if facts.kept_down and facts.desired == Desired.RUNNING and not facts.suspended:
            code = failure_code if failure_code in SENTENCES else None
        case Status.DEGRADED:
            code = _code_of_trouble(facts, agent_code)
        case Status.STARTING if not facts.operation:
            code = _known(agent_code) or None
        case Status.CRASHED | Status.RESTARTING if not facts.operation:
            waits = status == Status.RESTARTING and facts.state == "restarting" and agent_code in WAITING
            ended = agent_code if waits else _code_of_exit(facts, agent_code=agent_code, oom_killed=oom_killed)
            code = UNPROTECTED if facts.unprotected else ended
    return code


def _code_of_trouble(facts: Facts, agent_code: str) -> str:
    """What the gateway has seen takes precedence over the agent's own reports."""
    if facts.state == "paused":
        return "paused"
    if facts.has_reached_budget:
        return BUDGET_REACHED
    # The gateway only sees that the agent does not reach Telegram; the agent may know why.
    code = _sure(facts.seen_code) or _known(agent_code) or facts.seen_code
    return code or ("unexplained" if facts.agent_state in {"degraded", "failed"} else "unhealthy")


def _code_of_exit(facts: Facts, *, agent_code: str, oom_killed: bool) -> str:
    if facts.state is None:
        return "vanished"
    if facts.state == "created" or (facts.exit_code is None and not facts.gave_up):
        return "never_started"
    code = code_of_end(facts.exit_code, agent_code=agent_code, oom_killed=oom_killed)
    if code == "provider_credit" and facts.has_reached_budget:
        return BUDGET_REACHED  # the gateway refuses with the provider's own error
    if facts.seen_code == SOURCE_ADDRESS and code in _BLAMES_OTHERS:
        return SOURCE_ADDRESS
    # An image without the contract does not report what the gateway has seen.
    return _sure(facts.seen_code) or code if code in {"crash", "exited"} else code


def _sure(seen_code: str) -> str:
    """Returns the code that the gateway has seen if it names a cause, else an empty text."""
    return "" if seen_code == UNRESPONSIVE else seen_code


def ended_for_memory(exit_code: int | None, *, oom_killed: bool) -> bool:
    """Returns whether the run ended because memory ran out.

    `oom_killed` alone does not say so: Docker's flag is set once the kernel has killed any process in the container for
    memory, which the agent may have survived.
    """
    return oom_killed and exit_code in _KILLED_FOR_MEMORY


def code_of_end(exit_code: int | None, *, agent_code: str, oom_killed: bool) -> str:
    """Returns why a run ended. `exit_code` is None if nobody saw it."""
    if ended_for_memory(exit_code, oom_killed=oom_killed):
        return "out_of_memory"
    if exit_code is None:
        return agent_code if agent_code in _ENDING_CODES else "crash_unseen"
    if exit_code == 0:
        return "exited"
    if exit_code in _BY_SIGNAL:
        return _BY_SIGNAL[exit_code]
    meanings = CODES_OF_EXIT.get(exit_code, ("crash", *_ENDING_CODES))
    return agent_code if agent_code in meanings else meanings[0]


def _known(agent_code: str) -> str:
    """Returns the agent's code if the contract has it, else an empty text, because an image may print anything."""
    return agent_code if agent_code in REPORTED_CODES else ""
