"""berth deploy and berth change: collects the fields of a project, asks for missing ones, and shows the progress."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any
from uuid import uuid4

from berth_cli.api import Api, Document
from berth_cli.control import finish
from berth_cli.documents import as_object, as_rows, seconds_between, text, value
from berth_cli.errors import RefusedError, UsageError
from berth_cli.output import Output
from berth_cli.private_files import read_secret, read_text
from berth_cli.projects import find_project, path_of
from berth_cli.terminal import ask, ask_secret, can_ask
from berth_cli.waiting import Wait, has_settled

LARGEST_SETTINGS = 65_536

SECRETS = (
    (
        "telegramToken",
        "telegram_token_file",
        "BERTH_TELEGRAM_TOKEN",
        "Token of the Telegram bot",
        "needs_telegram_token",
    ),
    ("apiKey", "api_key_file", "BERTH_PROVIDER_KEY", "API key of the provider", "needs_api_key"),
)
"""Field, option, variable, question, and the field of a type that says whether it is needed. None is ever an argument,
because arguments are visible in the list of processes."""


def deploy(options: argparse.Namespace, api: Api, out: Output) -> int:
    body = _gather(options, api, asks=can_ask())
    out.goes_on = "The deploy may continue anyway. `berth list` shows it."
    out.progress("Checking the credentials and creating the container …")
    began = time.monotonic()
    try:
        document = api.call("POST", "projects", body, once_by=str(uuid4()))
    except RefusedError as error:
        _name_options(error, body)
        raise
    project_id = text(as_object(document.content), "id")
    out.goes_on = f"The deploy continues. `berth status {project_id}` shows its progress."
    _tell_made(document, took=time.monotonic() - began, out=out)
    if options.no_wait:
        return _end(document, out)
    since = time.monotonic()
    wait = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on)
    document = wait.until(has_settled, document)
    if text(document.content, "status") in {"running", "degraded"}:
        out.progress(f"Polling Telegram   {time.monotonic() - since:.1f} s")
    return _end(finish(document, wanted="running"), out)


def change(options: argparse.Namespace, api: Api, out: Output) -> int:
    project_id = find_project(api, options.project)
    body = _fields(options, from_environment=False)
    if not body:
        raise UsageError("There is nothing to change. Use --name, --plan, --set or another option.")
    out.goes_on = "The change may be made anyway."
    query = {"restart": "true" if options.restart else ""}
    document = api.call("PATCH", path_of(project_id), body, query=query)
    if options.restart and not options.no_wait:
        out.goes_on = f"The restart continues. `berth status {project_id}` shows its progress."
        wait = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on)
        document = finish(wait.until(has_settled, document), wanted="running")
    out.show(document, [])
    out.line(f"{text(as_object(document.content), 'name')} has been changed and is {text(document.content, 'status')}.")
    return 0


def _gather(options: argparse.Namespace, api: Api, *, asks: bool) -> dict[str, Any]:
    """Returns the body of the creation. In a terminal it asks for missing fields; elsewhere the API reports them."""
    body = _fields(options, from_environment=True)
    if not asks:
        return body
    if "name" not in body:
        body["name"] = ask("Name of the agent")
    types = as_rows(api.call("GET", "types").content)
    kind = _choose(body, "type", types)
    _choose(body, "plan", as_rows(api.call("GET", "plans").content))
    for field, option, _variable, question, needed in SECRETS:
        if field not in body and value(kind, needed):
            body[field] = ask_secret(question, option=f"--{option.replace('_', '-')} FILE").strip()
    return body


def _name_options(error: RefusedError, body: dict[str, Any]) -> None:
    """Adds to the sentence how secrets are given that are missing. The API knows only the names of its fields."""
    errors = error.problem.get("errors")
    refused = {text(each, "field") for each in errors} if isinstance(errors, list) else set()
    missing = [each for each in SECRETS if each[0] in refused and each[0] not in body]
    ways = [f"--{option.replace('_', '-')} FILE (or {variable})" for _, option, variable, *_ in missing]
    if ways:
        error.args = (f"{error} Use {' and '.join(ways)}.",)


def _fields(options: argparse.Namespace, *, from_environment: bool) -> dict[str, Any]:
    """Returns the fields from the options. A change ignores secrets that are only in the environment."""
    named = {
        "name": options.name,
        "type": getattr(options, "type", None),
        "plan": options.plan,
        "egress": options.egress,
    }
    body: dict[str, Any] = {field: given for field, given in named.items() if given is not None}
    files = [options.telegram_token_file, options.api_key_file, options.settings]
    if files.count("-") > 1:
        raise UsageError("Only one of the files can be standard input. Put the others into files.")
    for field, option, variable, question, _needed in SECRETS:
        file = getattr(options, option)
        if file:
            body[field] = read_secret(file, what=f"the {question[0].lower()}{question[1:]}")
        elif from_environment and os.environ.get(variable, "").strip():
            body[field] = os.environ[variable].strip()
    settings = _read_settings(options)
    return body | ({"settings": settings} if settings else {})


def _read_settings(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options.settings:
        written = read_text(options.settings, called=options.settings, at_most=LARGEST_SETTINGS)
        if len(written) > LARGEST_SETTINGS:
            raise UsageError(
                f"{options.settings} is larger than {LARGEST_SETTINGS // 1024} KB, which is too large for settings."
            )
        found = _parse(written, what=options.settings, wrong=f"{options.settings} is not JSON.")
        if not isinstance(found, dict):
            raise UsageError(f"{options.settings} is not a JSON object.")
    for given in options.set or []:
        name, sign, written = given.partition("=")
        if not sign or not name.strip(":"):
            raise UsageError(f"Write --set NAME=TEXT, or NAME:=JSON for a value that is not text; not “{given}”.")
        wrong = f'--set {name}= takes JSON, such as 5, true or ["*"]. Without the colon it takes text.'
        found[name.rstrip(":")] = (
            _parse(written, what=f"The value of --set {name}=", wrong=wrong) if name.endswith(":") else written
        )
    return found


def _parse(written: str, *, what: str, wrong: str) -> Any:
    try:
        found = json.loads(written, object_pairs_hook=_read_object)
        json.dumps([[[found]]])  # refuses values that can be read but not written
    except RepeatedNameError as error:
        raise UsageError(f"{what} {error}.") from None
    except ValueError:
        raise UsageError(wrong) from None
    except RecursionError:
        raise UsageError(f"{what} is nested too deeply.") from None
    return found


class RepeatedNameError(ValueError):
    """Its text ends a sentence that begins with where the JSON is from."""


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, given in pairs:
        if name in found:
            raise RepeatedNameError(f"has “{name}” twice in one object")
        found[name] = given
    return found


def _choose(body: dict[str, Any], field: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Asks if there is a choice. Returns the row of the chosen or default value."""
    slugs = [text(row, "slug") for row in rows]
    default = next((text(row, "slug") for row in rows if value(row, "is_default")), slugs[0] if slugs else "")
    if field not in body and len(slugs) > 1:
        body[field] = ask(f"{field.capitalize()}, one of {', '.join(slugs)}", default=default)
    return next((row for row in rows if text(row, "slug") == body.get(field, default)), None)


def _tell_made(document: Document, *, took: float, out: Output) -> None:
    """Shows the steps of the page, by the service's own clock. The rest of the time is the checks and the network."""
    made = seconds_between(document.content, "created_at", "started_at")
    out.progress(f"Checked            {max(0.0, took - (made or 0.0)):.1f} s")
    if made is not None:
        out.progress(f"Container created  {made:.1f} s")
        out.progress("Started")


def _end(document: Document, out: Output) -> int:
    name, link = text(document.content, "name"), text(document.content, "bot", "url")
    out.show(document, [])
    out.line(f"{name} is {text(document.content, 'status')}: {link or text(document.content, 'id')}")
    if "?start=" in link:
        out.progress("Open the link where you use Telegram: the first person who does is paired with the agent.")
    return 0
