"""berth deploy and berth change: what the API is sent, asked for where it is missing, and how far it has come."""

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
from berth_cli.errors import UsageError
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
"""Field, option, variable, question, and what says of a type that it needs it. None is ever an argument: those stand
in the list of processes.
"""


def deploy(options: argparse.Namespace, api: Api, out: Output) -> int:
    body = _gather(options, api, asks=can_ask())
    out.goes_on = "The deploy may go on all the same. `berth list` tells."
    out.progress("Checking the credentials and making the container …")
    began = time.monotonic()
    document = api.call("POST", "projects", body, once_by=str(uuid4()))
    project_id = text(as_object(document.told), "id")
    out.goes_on = f"The deploy goes on. `berth status {project_id}` tells how far it is."
    _tell_made(document, took=time.monotonic() - began, out=out)
    if options.no_wait:
        return _end(document, out)
    since = time.monotonic()
    wait = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on)
    document = wait.until(has_settled, document)
    if text(document.told, "status") in {"running", "degraded"}:
        out.progress(f"Polling Telegram   {time.monotonic() - since:.1f} s")
    return _end(finish(document, wanted="running"), out)


def change(options: argparse.Namespace, api: Api, out: Output) -> int:
    project_id = find_project(api, options.project)
    body = _fields(options, from_environment=False)
    if not body:
        raise UsageError("Nothing is to be changed. Say --name, --plan, --set, or another of its options.")
    out.goes_on = "The change may be made all the same."
    query = {"restart": "true" if options.restart else ""}
    document = api.call("PATCH", path_of(project_id), body, query=query)
    if options.restart and not options.no_wait:
        out.goes_on = f"The restart goes on. `berth status {project_id}` tells how far it is."
        wait = Wait(api, project_id, seconds=options.timeout, goes_on=out.goes_on)
        document = finish(wait.until(has_settled, document), wanted="running")
    out.show(document, [])
    out.line(f"{text(as_object(document.told), 'name')} is changed, and {text(document.told, 'status')}.")
    return 0


def _gather(options: argparse.Namespace, api: Api, *, asks: bool) -> dict[str, Any]:
    """The body of the creation. In a terminal what is missing is asked for; elsewhere the API says what is."""
    body = _fields(options, from_environment=True)
    if not asks:
        return body
    if "name" not in body:
        body["name"] = ask("Name of the agent")
    types = as_rows(api.call("GET", "types").told)
    kind = _choose(body, "type", types)
    _choose(body, "plan", as_rows(api.call("GET", "plans").told))
    for field, option, _variable, question, needed in SECRETS:
        if field not in body and value(kind, needed):
            body[field] = ask_secret(question, option=f"--{option.replace('_', '-')} FILE").strip()
    return body


def _fields(options: argparse.Namespace, *, from_environment: bool) -> dict[str, Any]:
    """What the options say of a project. A change takes no secret that merely stands in the environment."""
    named = {
        "name": options.name,
        "type": getattr(options, "type", None),
        "plan": options.plan,
        "egress": options.egress,
    }
    body: dict[str, Any] = {field: said for field, said in named.items() if said is not None}
    files = [options.telegram_token_file, options.api_key_file, options.settings]
    if files.count("-") > 1:
        raise UsageError("Standard input can be one of the files only. Put the others into files.")
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
            raise UsageError(f"{options.settings} is larger than {LARGEST_SETTINGS // 1024} KB, which no settings are.")
        found = _parse(written, what=options.settings, wrong=f"{options.settings} is not JSON.")
        if not isinstance(found, dict):
            raise UsageError(f"{options.settings} is not a JSON object.")
    for said in options.set or []:
        name, sign, written = said.partition("=")
        if not sign or not name.strip(":"):
            raise UsageError(f"Write --set NAME=TEXT, or NAME:=JSON for what is no text; not “{said}”.")
        wrong = f'--set {name}= takes JSON, such as 5, true or ["*"]. Without the colon it is a text.'
        found[name.rstrip(":")] = (
            _parse(written, what=f"What --set {name}= says", wrong=wrong) if name.endswith(":") else written
        )
    return found


def _parse(written: str, *, what: str, wrong: str) -> Any:
    try:
        found = json.loads(written)
        json.dumps([[[found]]])  # what can be read and not written is refused here, where it has a name
    except ValueError:
        raise UsageError(wrong) from None
    except RecursionError:
        raise UsageError(f"{what} is nested too deeply.") from None
    return found


def _choose(body: dict[str, Any], field: str, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Asks which, where there is a choice. Returns the row of what is meant by now."""
    slugs = [text(row, "slug") for row in rows]
    default = next((text(row, "slug") for row in rows if value(row, "is_default")), slugs[0] if slugs else "")
    if field not in body and len(slugs) > 1:
        body[field] = ask(f"{field.capitalize()}, one of {', '.join(slugs)}", default=default)
    return next((row for row in rows if text(row, "slug") == body.get(field, default)), None)


def _tell_made(document: Document, *, took: float, out: Output) -> None:
    """The steps of the page, by the service's own clock; what is left of the time was the checks and the way."""
    made = seconds_between(document.told, "created_at", "started_at")
    out.progress(f"Checked            {max(0.0, took - (made or 0.0)):.1f} s")
    if made is not None:
        out.progress(f"Container made     {made:.1f} s")
        out.progress("Started")


def _end(document: Document, out: Output) -> int:
    name, link = text(document.told, "name"), text(document.told, "bot", "url")
    out.show(document, [])
    out.line(f"{name} is {text(document.told, 'status')}: {link or text(document.told, 'id')}")
    if "?start=" in link:
        out.progress("Open the link where you use Telegram: the first one who does is paired with the agent.")
    return 0
