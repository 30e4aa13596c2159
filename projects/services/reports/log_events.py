"""Lines of a log as server-sent events, each told as a sentence, for the pages that follow one."""

import json
from collections.abc import Generator

from containers.agent_reports import parse_time
from projects.models import Project
from projects.rules.log_lines import read_line
from projects.services.reports.logs import read_logs

MOST_LINES = 1000
"""Of what was printed before, for a page that has none of it yet."""

AGAIN = 2000
"""Milliseconds until a browser asks for what was printed since."""


def read_new_lines(project: Project, *, after: str) -> bytes:
    """The lines after the one with the moment `after`, as server-sent events in one answer, and when to ask again.

    Raises `EngineError` and `SecretUnreadableError`.
    """
    since = parse_time(after)
    found = read_logs(project=project, tail=None if since else MOST_LINES, since=since)
    new = skip_known(found, after if since else "")
    return f"retry: {AGAIN}\n\n".encode() + b"".join(map(encode_line, new))


def skip_known(lines: Generator[str, None, None], after: str) -> Generator[str, None, None]:
    """Without what the page has already. The engine gives what is as old as the last line once more."""
    last = parse_time(after)
    for line in lines:
        stamp = line.partition(" ")[0]
        at = parse_time(stamp) if last else None
        if last and at and (at < last or (at == last and stamp <= after)):
            continue
        yield line


def encode_line(line: str) -> bytes:
    """JSON has no line end in a text, so that no line of an agent begins a field or an event of its own."""
    told = read_line(line)
    data = json.dumps({"at": told.stamp, "level": told.level, "text": told.text}, ensure_ascii=True)
    number = f"id: {told.stamp}\n" if told.stamp else ""
    return f"{number}data: {data}\n\n".encode()
