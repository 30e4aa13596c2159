"""What the page of one project shows."""

from datetime import datetime
from typing import Any, NamedTuple

from containers.engine import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Event, Project
from projects.rules.lifecycle import Action, Operation, Status, Verdict, judge_action
from projects.services.logs import TAIL, read_logs

LOG_LINES = 100
EVENTS = 50

UP = frozenset({Status.RUNNING, Status.STARTING, Status.DEGRADED, Status.RESTARTING, Status.UNKNOWN})
ENDED = frozenset({Status.CRASHED, Status.FAILED})
NOTES = {
    Status.DEPLOYING: "The container is being made.",
    Status.STARTING: "The container runs, and the agent is getting ready.",
    Status.RUNNING: "The agent is ready.",
    Status.RESTARTING: "The container is being replaced by a new one.",
    Status.STOPPING: "The agent is being stopped. It gets a few seconds to finish.",
    Status.STOPPED: "The agent does not run. Its memory and its settings are kept.",
    Status.DELETING: "The container, its state and its credentials are being removed. The project is gone as soon as "
    "the engine confirms that they are.",
}
"""For a status that needs no reason, what it means."""


class LogLine(NamedTuple):
    at: datetime | None
    text: str


def describe_project(project: Project) -> dict[str, Any]:
    """The context of its page. Asks the engine for the log."""
    status = project.status
    reason = project.status_reason
    log, silence = _read_log(project)
    tail: list[LogLine] = []
    if reason and status in ENDED:
        # The watcher keeps the end of the log; where it has not seen the crash yet, the engine still has it.
        tail = [split_line(line) for line in reason["log_tail"]] or log[-TAIL:]
    return {
        "project": project,
        "status": status,
        "reason": reason,
        "note": NOTES.get(status, ""),
        "tail": tail,
        "buttons": [(action, is_sensible(action, project)) for action in Action],
        "log": log,
        "silence": silence,
        "events": [(event, event.outcome.replace("_", " ")) for event in _newest_events(project)],
    }


def is_sensible(action: Action, project: Project) -> bool:
    """Whether to offer the action. The service may still refuse it: the project may have moved on."""
    facts, status = project.facts(), project.status
    verdict = judge_action(action, status=status, operation=facts.operation, suspended=facts.suspended)
    if verdict != Verdict.PROCEED:
        return False
    match action:
        case Action.RESTART:
            return status in UP
        case Action.STOP:
            return status not in {Status.STOPPED, Status.SUSPENDED} and facts.operation != Operation.STOP
        case _:
            return True


def split_line(line: str) -> LogLine:
    """The time, which the engine puts in front of each line, and what the agent printed."""
    stamp, _, text = line.partition(" ")
    try:
        return LogLine(datetime.fromisoformat(stamp), text)
    except ValueError:
        return LogLine(None, line)


def _read_log(project: Project) -> tuple[list[LogLine], str]:
    """The last lines, or a sentence that says why there are none to show."""
    try:
        return [split_line(line) for line in read_logs(project=project, tail=LOG_LINES)], ""
    except EngineError as error:
        return [], str(error)
    except SecretUnreadableError:
        return (
            [],
            "The stored credentials cannot be read, and no log is shown that they might stand in. Set both again.",
        )


def _newest_events(project: Project) -> list[Event]:
    return list(Event.objects.filter(project_id=project.pk)[:EVENTS])
