"""Explains in one sentence why a project is not well, from the exit code, the OOM flag and the agent's report."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from containers.agent_contract import PROBLEMS_OF_EXIT, ProblemCode
from projects.rules.periods import name_day
from projects.rules.status.lifecycle import UNPROTECTED, Desired, Facts
from projects.rules.status.sightings import SOURCE_ADDRESS, UNRESPONSIVE
from projects.rules.status.statuses import Status
from projects.rules.status.waiting import WAITING

SENTENCES = {
    # Codes that the agent reports, and the meanings of its exit codes (the agent contract).
    "telegram_token": "Telegram refused the bot token. Paste a new one from @BotFather, then start.",
    "telegram_conflict": "Another program polls this bot. Stop the program that uses the token, then start.",
    "telegram_unreachable": "Telegram could not be reached. The agent tries again by itself; check the host's network.",
    "provider_key": "The provider refused the API key. Paste a valid key, then restart.",
    "provider_credit": "The provider account has no credit left. Top it up or paste another key, then restart.",
    "provider_model": "The provider does not know the model. Choose another model in the settings, then restart.",
    "provider_busy": "The provider's rate limit is reached. The agent answers again when the limit is over.",
    "provider_down": "The provider does not answer. The agent tries again by itself.",
    "tools_refused": "A tool server asks for a sign-in or refuses its key. Set a valid key, or remove the server.",
    "budget_reached": "Budget reached; it resets on {resets}. Set a higher one, or ask the staff; what is left is "
    "too little for an answer.",
    SOURCE_ADDRESS: "The agent's address is not the one Berth gave it. Ask the staff to remove a NAT rule on the host; "
    "its credentials may be fine.",
    "missing_secret": "A credential or setting is missing. Set the bot token and the API key again, then start.",
    "bad_configuration": "A setting or an address is wrong. Correct what the log names or ask the staff, then start.",
    "memory_unreadable": "The agent cannot open its memory. Start it again, or ask the staff to check its volume.",
    # What the engine reports.
    "out_of_memory": "The agent used more memory than its plan allows. Choose a larger plan, then start.",
    "exited": "The agent ended by itself although it should run. Read the log, then start.",
    "crash": "The agent crashed (exit code {exit_code}). Read the log, then start.",
    "killed": "The agent was killed (exit code {exit_code}), by someone or because memory ran out. Start it again.",
    "terminated": "The agent was told to end (exit code {exit_code}), but not by Berth. Start it again.",
    "crash_unseen": "The agent crashed, and was started again before its end could be seen. Read the log, then start.",
    "vanished": "The container disappeared from the engine. Start the project to create it again.",
    "never_started": "The container was created but never started. Start the project.",
    "unresponsive": "The agent runs but has not reached Telegram for 90 seconds. Restart it if this lasts.",
    "paused": "The container is paused on the engine. Restart the project to make it run again.",
    # Obstacles before there is a container.
    "image_missing": "The image of this agent type is not on the engine. Ask the staff to build it, then start.",
    "name_taken": "A container not created by Berth has this project's name. Ask the staff to remove it, then start.",
    "no_capacity": "No machine had the memory for this agent. Start it again later, or choose a smaller plan.",
    "engine_refused": "The engine could not create the container. Start again; if it fails again, tell the staff.",
    "copy_not_returned": "The agent's memory could not be restored, and a copy of it is kept. Start it to try again.",
    "engine_unavailable": "The container engine has not answered about this agent for seconds: it is down, or busy. "
    "Nothing newer is known until it does.",
    "secret_unreadable": "The stored credentials cannot be read. Set the bot token and the API key again, then start.",
    "bot_claimed": "Another project proved that this Telegram bot is its own. Set the token of your bot, then start.",
    "disk_full": "Its memory is full: {disk}. Clear the agent's memory or choose a larger plan, then start.",
    "firewall_missing": "Agents stay stopped because their firewall is not in force. The staff know; this agent "
    "starts by itself when it is.",
    "gateway_off": "It may only reach the gateway, and the gateway is switched off. Ask the staff, then start.",
    "settings_unusable": "A setting is invalid, so no container can be created. Correct the settings, then start.",
    "suspended": "The staff suspended this project. Ask them to lift the suspension.",
} | WAITING

RETRYING = {
    "out_of_memory": "The agent used more memory than its plan allows, and is tried again. Choose a larger plan.",
    "exited": "The agent ended by itself, and is tried again. Read the log if this lasts.",
    "crash": "The agent crashed (exit code {exit_code}), and is tried again. Read the log if this lasts.",
    "killed": "Killed (exit code {exit_code}), by someone or because memory ran out. It is tried again automatically.",
    "terminated": "Told to end (exit code {exit_code}), but not by Berth. It is tried again automatically.",
}
"""The sentences to use instead while the engine restarts the agent by itself."""

CODES_OF_EXIT = {int(exit_code): tuple(map(str, problems)) for exit_code, problems in PROBLEMS_OF_EXIT.items()}
REPORTED_CODES = frozenset(map(str, ProblemCode)) - {str(ProblemCode.CRASH)}
"""The codes that an agent may report. Only the engine reports a crash."""

_ENDING_CODES = REPORTED_CODES - {str(ProblemCode.TOOLS_REFUSED)}
"""The codes for which an agent may have ended."""

_BLAMES_OTHERS = frozenset({"telegram_token", "telegram_unreachable", "provider_key", "provider_down"})
"""The codes that an agent reports by mistake if the gateway refuses its requests."""

BUDGET_REACHED = "budget_reached"
_BY_SIGNAL = {137: "killed", 143: "terminated"}  # SIGKILL, also sent when memory runs out, and SIGTERM


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
    sentences = SENTENCES | RETRYING if status == Status.RESTARTING else SENTENCES
    resets = name_day(facts.budget_until) if facts.budget_until else ""
    message = sentences[code].format(exit_code=facts.exit_code, disk=disk, resets=resets)
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
            exited = _code_of_exit(facts, agent_code=agent_code, oom_killed=oom_killed)
            code = UNPROTECTED if facts.unprotected else exited
    return code


def _code_of_trouble(facts: Facts, agent_code: str) -> str:
    """What the gateway has seen takes precedence over the agent's own reports."""
    if facts.state == "paused":
        return "paused"
    if facts.has_reached_budget:
        return BUDGET_REACHED
    # The gateway only sees that the agent does not reach Telegram; the agent may know why.
    return _sure(facts.seen_code) or _known(agent_code) or UNRESPONSIVE


def _code_of_exit(facts: Facts, *, agent_code: str, oom_killed: bool) -> str:
    if facts.state is None:
        return "vanished"
    if facts.state == "restarting" and agent_code in WAITING:
        return agent_code
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


def code_of_end(exit_code: int | None, *, agent_code: str, oom_killed: bool) -> str:
    """Returns why a run ended. `exit_code` is None if nobody saw it. An exit code of the contract counts before
    `oom_killed`, because the kernel may have killed only a child program."""
    if oom_killed and exit_code not in CODES_OF_EXIT:
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
