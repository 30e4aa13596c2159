"""berth start, stop, restart, update and rm: sends the command and waits for the result."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from berth_cli.api import Api, Document
from berth_cli.documents import as_object, as_rows, text
from berth_cli.errors import CommandError, RefusedError, UnreachableError, UnsettledError, UsageError
from berth_cli.output import Output
from berth_cli.projects import find_all, find_project, path_of
from berth_cli.terminal import can_ask, confirm
from berth_cli.waiting import Wait, has_settled, is_down, wait_until_gone

NEW_IMAGE = "new image"
"""The action of the events that report the result of an update."""


def control(options: argparse.Namespace, api: Api, out: Output) -> int:
    """Commands all projects, even if one is refused. Returns the exit code of the last refusal then."""
    return _try_each(find_all(api, options.projects), out, lambda each: _control_one(options, api, out, each))


def update(options: argparse.Namespace, api: Api, out: Output) -> int:
    """Updates to the newest image of the type. The events report the result."""
    project_id = find_project(api, options.project)
    out.goes_on = f"The update continues. `berth status {project_id}` shows its progress."
    document = api.call("POST", path_of(project_id, "update"))
    as_object(document.content)
    if document.status == 200 or options.no_wait:
        out.show(document, [])
        out.line(
            "It already has the newest image." if document.status == 200 else "It is being updated to the newest image."
        )
        return 0
    document = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on).until(has_settled, document)
    events = as_rows(api.call("GET", path_of(project_id, "events"), query={"limit": 20}).content)
    last = next((event for event in events if text(event, "action") == NEW_IMAGE), {})
    outcome, detail = text(last, "outcome"), text(last, "detail")
    if outcome in {"undone", "failed", "given up"}:
        raise CommandError(f"The update was {outcome}. {detail}".strip(), document=document.raw)
    out.show(document, [])
    out.line(f"{text(document.content, 'name')} has the newest image, and is {text(document.content, 'status')}.")
    return 0


def remove(options: argparse.Namespace, api: Api, out: Output) -> int:
    """Deletes permanently. The beginning of a name is enough only if the user confirms the project.

    As with the other commands, a refusal of one project does not affect the others.
    """
    asks = not options.yes
    if asks and not can_ask():
        raise UsageError("Deletion is permanent, and there is no terminal to ask in. Add --yes if you mean it.")
    found = find_all(api, options.projects, whole=not asks)
    return _try_each(found, out, lambda each: _remove_one(options, api, out, each))


def _remove_one(options: argparse.Namespace, api: Api, out: Output, project_id: str) -> int:
    if not (options.yes or _is_meant(api, project_id)):
        out.progress("It was not deleted.")
        return CommandError.code
    out.goes_on = f"The deletion continues. `berth status {project_id}` shows its progress."
    document = api.call("DELETE", path_of(project_id))
    if document.status == 204:
        out.line("It is deleted.")
        return 0
    as_object(document.content)
    if options.no_wait:
        out.show(document, [])
        out.line("It is being deleted.")
        return 0
    wait_until_gone(Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on), document)
    out.line("It is deleted.")
    return 0


def finish(document: Document, *, wanted: str) -> Document:
    """Returns the document of a project that has the wanted status. Raises `CommandError` with the reason if it has
    not.
    """
    status = text(as_object(document.content), "status")
    if status == wanted:
        return document
    reason = text(document.content, "status_reason", "message")
    name = text(document.content, "name")
    raise CommandError(f"{name} is {status}. {reason}".strip(), document=document.raw)


def _is_meant(api: Api, project_id: str) -> bool:
    found = as_object(api.call("GET", path_of(project_id)).content)
    question = f"Delete {text(found, 'name')} ({text(found, 'status')}) and its memory?"
    return confirm(question, option="--yes")


def _try_each(found: dict[str, str], out: Output, command: Callable[[str], int]) -> int:
    """Returns the exit code of the last failure, or 0. If there are several projects, a refusal names its project."""
    codes = [
        _try_one(partial(command, project_id), out, called if len(found) > 1 else "")
        for project_id, called in found.items()
    ]
    return next((code for code in reversed(codes) if code), 0)


def _try_one(command: Callable[[], int], out: Output, called: str) -> int:
    """Raises errors that would affect the other projects, too."""
    try:
        return command()
    except UsageError:
        raise
    except CommandError as error:
        if called and isinstance(error, (RefusedError, UnreachableError, UnsettledError)):
            error.args = (f"{called}: {error}",)  # the other errors already name the project
        if isinstance(error, UnreachableError):
            raise
        out.refuse(error)
        return error.code


def _control_one(options: argparse.Namespace, api: Api, out: Output, project_id: str) -> int:
    action = options.command
    out.goes_on = f"The {action} may continue anyway. `berth status {project_id}` shows it."
    document = api.call("POST", path_of(project_id, "control"), {"action": action})
    if not options.no_wait:
        out.goes_on = f"The {action} continues. `berth status {project_id}` shows its progress."
        wait = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on)
        document = wait.until(is_down if action == "stop" else has_settled, document)
        if action != "stop":
            finish(document, wanted="running")
    content = as_object(document.content)
    out.show(document, [])
    out.line(f"{text(content, 'name')} is {text(content, 'status')}.")
    return 0
