"""Log lines as server-sent events, each made readable, for pages that follow a log."""

import json
from collections.abc import Generator

from containers.agent_reports import parse_time
from projects.models import Project
from projects.rules.log_lines import read_line
from projects.services.reports.logs import read_logs

MOST_LINES = 1000
"""The maximum number of earlier lines for a page that has none yet."""

AGAIN = 2000
"""Milliseconds until a browser asks for new lines."""


def read_new_lines(project: Project, *, after: str) -> bytes:
    """Returns the lines after the one with the timestamp `after`, as server-sent events in one response.

    Raises `EngineError` and `SecretUnreadableError`.
    """
    since = parse_time(after)
    found = read_logs(project=project, tail=None if since else MOST_LINES, since=since)
    new = skip_known(found, after if since else "")
    return f"retry: {AGAIN}\n\n".encode() + b"".join(map(encode_line, new))


def skip_known(lines: Generator[str, None, None], after: str) -> Generator[str, None, None]:
    """Skips lines that the page already has, because the engine repeats lines with the last timestamp."""
    last = parse_time(after)
    for line in lines:
        stamp = line.partition(" ")[0]
        at = parse_time(stamp) if last else None
        if last and at and (at < last or (at == last and stamp <= after)):
            continue
        yield line


def encode_line(line: str) -> bytes:
    """Encodes a line. JSON texts have no line breaks, so that an agent's line cannot begin another field or event."""
    parsed = read_line(line)
    data = json.dumps({"at": parsed.stamp, "level": parsed.level, "text": parsed.text}, ensure_ascii=True)
    number = f"id: {parsed.stamp}\n" if parsed.stamp else ""
    return f"{number}data: {data}\n\n".encode()
