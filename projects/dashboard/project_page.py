"""What the page of one project shows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.dashboard.usage_in_words import describe_usage
from projects.errors import UnknownRunError
from projects.models import Event, Project, Run
from projects.models.snapshot import Snapshot, take_snapshot
from projects.rules.control import is_sensible
from projects.rules.disk import describe_size
from projects.rules.lifecycle import Action
from projects.rules.traits import Condition
from projects.services.logs import TAIL, read_logs
from projects.services.observation import refresh
from projects.services.runs import current_number, read_run

LOG_LINES = 100
EVENTS = 50


class LogLine(NamedTuple):
    at: datetime | None
    text: str


class Button(NamedTuple):
    action: Action
    is_sensible: bool
    is_primary: bool


class ShownRun(NamedTuple):
    """The run whose log the page shows, among those of which a log can be read. `ended` is None for the current one."""

    number: int
    newest: int
    ended: Run | None
    earlier: int | None
    later: int | None


def describe_project(project: Project, *, run: int | None = None) -> dict[str, Any]:
    """The context of its page. Asks the engine for the log, and then for the status.

    `run` is the number of an ended run whose log is shown instead. Raises `UnknownRunError`.

    Reading the log may take seconds. The snapshot is taken after that, so that it is as of the moment of the answer.
    """
    shown = _find_run(project, run)
    log, silence = _read_log(project, shown)
    refresh([project])
    snapshot = take_snapshot(project)
    traits, reason = snapshot.status.traits, snapshot.reason
    tail: list[LogLine] = []
    if reason and traits.condition == Condition.ENDED:
        # The watcher keeps the end of the log; where it has not seen the crash yet, the engine still has it.
        tail = [split_line(line) for line in reason["log_tail"]] or ([] if shown.ended else log[-TAIL:])
    return {
        "project": project,
        "snapshot": snapshot,
        "is_unknown": traits.condition == Condition.UNKNOWN,
        "may_be_changed": not snapshot.facts.suspended,
        "disk": _describe_disk(project),
        **describe_usage(project),
        "tail": tail,
        "buttons": [_make_button(action, snapshot) for action in Action],
        "run": shown,
        "log": log,
        "silence": silence,
        "events": [(event, event.outcome.replace("_", " ")) for event in _newest_events(project)],
    }


def _describe_disk(project: Project) -> dict[str, Any]:
    share = project.disk_share
    return {"limit": describe_size(share.limit), "share": share.describe(), "warning": share.warning}


def _make_button(action: Action, snapshot: Snapshot) -> Button:
    sensible = is_sensible(action, status=snapshot.status, facts=snapshot.facts)
    is_known = snapshot.status.traits.condition != Condition.UNKNOWN
    return Button(action, sensible, is_primary=sensible and is_known and action == Action.START)


def split_line(line: str) -> LogLine:
    """Splits the time, which the engine puts in front of each line, from what the agent printed."""
    stamp, _, text = line.partition(" ")
    try:
        return LogLine(datetime.fromisoformat(stamp), text)
    except ValueError:
        return LogLine(None, line)


def _find_run(project: Project, number: int | None) -> ShownRun:
    newest = current_number(project)
    kept = list(project.runs.defer("log"))
    if number in {None, newest}:
        return ShownRun(newest, newest, None, earlier=kept[0].number if kept else None, later=None)
    place = next((place for place, run in enumerate(kept) if run.number == number), None)
    if place is None:
        raise UnknownRunError(f"There is no log of run {number}.")
    earlier = kept[place + 1].number if place + 1 < len(kept) else None
    return ShownRun(
        kept[place].number, newest, kept[place], earlier=earlier, later=kept[place - 1].number if place else newest
    )


def _read_log(project: Project, shown: ShownRun) -> tuple[list[LogLine], str]:
    """Returns the last lines, and a sentence that says why there are none where they cannot be read."""
    try:
        if shown.ended:
            lines: Iterable[str] = read_run(project=project, number=shown.number)
        else:
            lines = read_logs(project=project, tail=LOG_LINES)
        return [split_line(line) for line in lines], ""
    except EngineError as error:
        return [], str(error)
    except SecretUnreadableError:
        return (
            [],
            "The stored credentials cannot be read, and no log is shown that they might stand in. Set both again.",
        )


def _newest_events(project: Project) -> list[Event]:
    return list(Event.objects.filter(project_id=project.pk)[:EVENTS])
