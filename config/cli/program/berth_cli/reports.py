"""berth list, status, stats, usage and whoami: shows documents of the API to people."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from berth_cli.api import Api
from berth_cli.documents import as_object, as_rows, moment, number, text, value
from berth_cli.output import Output
from berth_cli.projects import find_project, path_of
from berth_cli.tables import COLOURS, write_ago, write_size, write_table
from berth_cli.terminal import paint, printable, width_of_terminal

SHORT_ID = 13
"""Characters of an id in a terminal: two random groups, which every command accepts."""


def list_projects(options: argparse.Namespace, api: Api, out: Output) -> int:
    query = {"status": options.status, "q": options.query, "sort": options.sort}
    # People see the bots as well. A program gets the API's default document.
    document = api.call("GET", "projects", query=query if out.as_json else {**query, "include": "bot"})
    out.show(document, _write_projects(as_rows(document.content)))
    return 0


def show_project(options: argparse.Namespace, api: Api, out: Output) -> int:
    document = api.call("GET", path_of(find_project(api, options.project)))
    out.show(document, _write_project(as_object(document.content)))
    return 0


def show_stats(options: argparse.Namespace, api: Api, out: Output) -> int:
    path = path_of(find_project(api, options.project), "stats")
    document = api.call("GET", path, query={"since": options.since})
    content = as_object(document.content)
    out.show(document, _write_series(content) if options.since else _write_now(content))
    return 0


def show_usage(options: argparse.Namespace, api: Api, out: Output) -> int:
    path = path_of(find_project(api, options.project), "usage")
    query = {"since": options.since, "until": options.until, "by": options.by}
    if options.csv:
        out.verbatim(api.read_text(path, query={**query, "format": "csv"}))
        return 0
    document = api.call("GET", path, query=query)
    rows = [
        [
            text(row, "at")[: 16 if options.by == "hour" else 10].replace("T", " "),
            text(row, "model") or "-",
            *(text(row, name) for name in ("messages", "requests", "input_tokens", "output_tokens", "money")),
        ]
        for row in as_rows(document.content)
    ]
    out.show(document, write_table(["FROM", "MODEL", "MESSAGES", "CALLS", "TOKENS IN", "OUT", "MONEY"], rows))
    return 0


def who_am_i(_options: argparse.Namespace, api: Api, out: Output) -> int:
    document = api.call("GET", "me")
    me = as_object(document.content)
    expires = text(me, "token", "expires_at")
    lines = {
        "Installation": api.context.url,
        "Email": text(me, "email"),
        "Role": text(me, "role"),
        "Token": f"{text(me, 'token', 'name')} ({text(me, 'token', 'scope')})",
        "Expires": expires or "never",
    }
    out.show(document, _write_fields(lines))
    return 0


def _write_projects(rows: list[dict[str, Any]]) -> list[str]:
    short = width_of_terminal() is not None
    cells = [
        [
            text(row, "name"),
            text(row, "status"),
            text(row, "plan"),
            f"@{text(row, 'bot', 'username')}" if text(row, "bot", "username") else "-",
            write_ago(moment(row, "created_at")),
            text(row, "id")[: SHORT_ID if short else None],
        ]
        for row in rows
    ]
    return write_table(["NAME", "STATUS", "PLAN", "BOT", "AGE", "ID"], cells)


def _write_project(content: dict[str, Any]) -> Iterator[str]:
    status = text(content, "status")
    messages, tokens = (text(content, "usage", "today", name) for name in ("messages", "tokens"))
    lines = {
        "Name": text(content, "name"),
        "Status": status,
        "Why": text(content, "status_reason", "message"),
        "Bot": text(content, "bot", "url"),
        "Type": text(content, "type"),
        "Plan": text(content, "plan"),
        "Provider": text(content, "provider"),
        "Id": text(content, "id"),
        "Created": f"{write_ago(moment(content, 'created_at'))} ago",
        "Started": f"{write_ago(moment(content, 'started_at'))} ago" if text(content, "started_at") else "",
        "Restarts": text(content, "restarts"),
        "Disk": _of(number(content, "disk", "used"), number(content, "disk", "limit")),
        "Today": f"{messages} messages, {tokens} tokens" if messages else "",
        "Image": "There is a newer one: `berth update` installs it."
        if value(content, "image", "update_available")
        else "",
    }
    yield from _write_fields(lines)


def _write_now(content: dict[str, Any]) -> Iterator[str]:
    cpu = number(content, "cpu_percent")
    lines = {
        "Processor": "-" if cpu is None else f"{cpu:.1f} % of a core",
        "Memory": _of(number(content, "memory"), number(content, "memory_limit")),
        "Received": write_size(number(content, "network_received")),
        "Sent": write_size(number(content, "network_sent")),
        "Processes": text(content, "pids") or "-",
    }
    yield from _write_fields(lines)


def _write_series(content: dict[str, Any]) -> list[str]:
    samples = value(content, "samples")
    rows = [
        [
            text(each, "at")[:16].replace("T", " "),
            f"{number(each, 'cpu_percent') or 0.0:.1f} %",
            *(write_size(number(each, name)) for name in ("memory", "network_received", "network_sent")),
        ]
        for each in (samples if isinstance(samples, list) else [])
    ]
    return write_table(["FROM (UTC)", "PROCESSOR", "MEMORY", "RECEIVED", "SENT"], rows)


def _write_fields(lines: dict[str, str]) -> Iterator[str]:
    widest = max(map(len, lines))
    for name, cell in lines.items():
        if cell:
            shown = " ".join(printable(cell).split())
            yield f"{name:<{widest}}  {paint(shown, COLOURS.get(cell, ''))}"


def _of(used: float | None, limit: float | None) -> str:
    return write_size(used) + (f" of {write_size(limit)}" if limit is not None else "")
