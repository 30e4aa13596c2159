"""The contents of a project's page."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.dashboard.content.charts import describe_charts, read_span
from projects.dashboard.content.events import read_events
from projects.dashboard.content.steps import describe_steps, is_new
from projects.dashboard.content.usage_in_words import describe_usage
from projects.errors import UnknownRunError
from projects.models import Project, Run
from projects.models.rows.snapshot import Snapshot, take_snapshot
from projects.rules.disk import describe_size
from projects.rules.log_lines import LogLine, read_lines
from projects.rules.status.control import is_sensible
from projects.rules.status.lifecycle import Action, Desired
from projects.rules.status.traits import Condition
from projects.services.limits.disk import describe_unmeasured
from projects.services.observation import refresh
from projects.services.reports.logs import read_logs
from projects.services.reports.runs import current_number, read_run

LOG_LINES = 200


class Button(NamedTuple):
    action: Action
    is_sensible: bool
    is_primary: bool


class ShownRun(NamedTuple):
    """The run whose log the page shows, and its neighbours with a log. `ended` is None for the current run."""

    number: int
    newest: int
    ended: Run | None
    earlier: int | None
    later: int | None


def describe_project(project: Project, *, run: int | None = None, event: str = "", span: str = "") -> dict[str, Any]:
    """Returns the template context of the page: its live parts, the charts, and the log.

    `run` is the number of an ended run whose log to show instead, and `event` an action whose events to show. Asks the
    engine for the log, then for the status. Raises `UnknownRunError`.
    """
    page = describe_live(project, run=run, event=event, has_log=True)
    reason = page["snapshot"].reason
    hides_success = page["snapshot"].status.traits.reason_level != "info" and reason is not None
    return page | describe_charts(project, read_span(span)) | {"tail": _read_tail(page), "hides_success": hides_success}


def describe_live(project: Project, *, run: int | None, event: str, has_log: bool) -> dict[str, Any]:
    """Returns the context of the page's live parts. A page that follows the log needs no log here.

    Reading the log may take seconds, so the snapshot is taken after it, to be as recent as the response.
    """
    shown = _find_run(project, run)
    log, silence = _read_log(project, shown) if has_log else ([], "")
    refresh([project])
    snapshot = take_snapshot(project)
    traits = snapshot.status.traits
    return {
        **_describe_deploy(snapshot),
        "snapshot": snapshot,
        "is_unknown": traits.condition == Condition.UNKNOWN,
        "may_be_changed": not snapshot.facts.suspended,
        "disk": _describe_disk(project),
        "model": project.settings.get("model") or project.agent_type.default_model_of(project.provider),
        **describe_usage(project),
        "next_step": _first_sentence(traits.next_step),
        "buttons": [_make_button(action, snapshot) for action in Action],
        "run": shown,
        "log": log,
        "silence": silence,
        "events": read_events(project, event),
    }


def _read_tail(page: dict[str, Any]) -> list[LogLine]:
    """Returns the last lines of an ended agent, unless the page's log already has them."""
    snapshot: Snapshot = page["snapshot"]
    has_ended = snapshot.status.traits.condition == Condition.ENDED
    if not (snapshot.reason and has_ended and (page["run"].ended or not page["log"])):
        return []
    return read_lines(snapshot.reason["log_tail"])


def _describe_deploy(snapshot: Snapshot) -> dict[str, Any]:
    is_shown = is_new(snapshot.project, snapshot.facts.now)
    is_to_run = snapshot.project.desired == Desired.RUNNING
    return {
        "project": snapshot.project,
        "steps": describe_steps(snapshot) if is_shown else None,
        "may_be_greeted": is_to_run and snapshot.status.traits.condition not in {Condition.DOWN, Condition.ENDED},
    }


def _describe_disk(project: Project) -> dict[str, Any]:
    share = project.disk_share
    described = {"limit": describe_size(share.limit), "share": share.describe(), "warning": share.warning}
    return {**described, "not_measured": describe_unmeasured()}


def _make_button(action: Action, snapshot: Snapshot) -> Button:
    sensible = is_sensible(action, status=snapshot.status, facts=snapshot.facts)
    is_known = snapshot.status.traits.condition != Condition.UNKNOWN
    return Button(action, sensible, is_primary=sensible and is_known and action == Action.START)


def _first_sentence(text: str) -> str:
    """Returns the first sentence. The others are for readers of the documents."""
    return f"{text.partition('. ')[0].rstrip('.')}." if text else ""


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
    """Returns the last lines, or none and a sentence that says why they cannot be read."""
    try:
        if shown.ended:
            lines: Iterable[str] = read_run(project=project, number=shown.number)
        else:
            lines = read_logs(project=project, tail=LOG_LINES)
        return read_lines(lines), ""
    except EngineError as error:
        return [], str(error)
    except SecretUnreadableError:
        return (
            [],
            "The stored credentials cannot be read, and no log is shown that they might stand in. Set both again.",
        )
