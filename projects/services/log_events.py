"""Lines of a log as server-sent events, each told as a sentence, for the pages that follow one."""

import json
from collections.abc import Generator
from datetime import timedelta
from typing import NamedTuple

from accounts import clock
from accounts.moments import LIMITS_DIFFER, is_recent
from containers.agent_reports import parse_time
from projects.models import Project
from projects.rules.log_lines import read_line
from projects.services.logs import read_logs

MOST_LINES = 1000
"""Of what was printed before, for a page that has none of it yet."""

LIVE = timedelta(minutes=5)
"""How old a line is at most that a page is told while it follows."""

AGAIN = 2000
"""Milliseconds until a browser asks for what was printed since."""


class NewLines(NamedTuple):
    """As server-sent events. `are_live`: they have just been printed, and the page has the lines before them."""

    told: bytes
    are_live: bool


def read_new_lines(project: Project, *, after: str) -> NewLines:
    """The lines after the one with the moment `after`, as one answer, and when to ask again.

    Raises `EngineError` and `SecretUnreadableError`.
    """
    since = parse_time(after)
    found = read_logs(project=project, tail=None if since else MOST_LINES, since=since)
    lines = list(skip_known(found, after if since else ""))
    told = f"retry: {AGAIN}\n\n".encode() + b"".join(map(encode_line, lines))
    first = parse_time(lines[0].partition(" ")[0]) if lines and since else None
    are_live = not lines or is_recent(first, within=LIVE, now=clock.now(), ahead=LIMITS_DIFFER)
    return NewLines(told, are_live)


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
