"""berth logs: shows the output of an agent, and with -f follows it, even if connections break."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from berth_cli.api import Api, open_stream
from berth_cli.errors import CommandError, RefusedError, UnreachableError
from berth_cli.output import Output
from berth_cli.projects import find_project, path_of
from berth_cli.terminal import print_err, print_out

SILENCE = 60.0
"""Seconds without a byte after which it connects again. The service shows every few seconds that it is there."""

TRIES, PAUSE = 10, 2.0
"""Consecutive connections without a line, and the seconds between them."""

LONGEST_LINE = 1024 * 1024


def read_logs(options: argparse.Namespace, api: Api, out: Output) -> int:
    path = path_of(find_project(api, options.project), "logs")
    query = {"tail": options.tail, "since": options.since, "run": options.run}
    if options.follow:
        return _Follower(api, path, query).follow()
    content = api.read_text(path, query=query)
    if sys.stdout.isatty():
        for line in content.decode(errors="replace").splitlines():
            print_out(line)
    else:
        out.verbatim(content)
    return 0


class _Follower:
    """Remembers the last lines, so that it continues there after a broken connection."""

    def __init__(self, api: Api, path: str, query: dict[str, Any]) -> None:
        self.api, self.path, self.query = api, path, query
        self.shown: list[str] = []
        self.failures = 0
        self.was_let_in = False

    def follow(self) -> int:
        """Returns when the log has ended because the agent has. Raises `CommandError`."""
        while True:
            began = time.monotonic()
            trouble = self._find_trouble()
            if trouble is None:
                print_err("The log has ended.")
                return 0
            self.failures = 1 if time.monotonic() - began > SILENCE / 2 else self.failures + 1
            if self.failures >= TRIES:
                raise UnreachableError(trouble)
            if self.failures == 1:
                print_err(f"{trouble} Trying again.")
            time.sleep(PAUSE)

    def _find_trouble(self) -> str | None:
        """Returns None if the log has ended, else why the connection ended. Raises errors that another connection would
        meet, too.
        """
        try:
            if self._follow_once():
                return None
        except CommandError as error:
            if not self._may_pass(error):
                raise
            return str(error)
        return f"The answer of {self.api.transport.host} was cut off."

    def _follow_once(self) -> bool:
        """Returns whether the log has ended. False if only the connection has."""
        query = {**self.query, "follow": "true"}
        shown = list(self.shown)
        if shown:
            query.update(since=_moment_of(shown[-1]), tail=None)
        for event, line in self._events(query):
            if event == "end":
                return True
            if event == "error":
                raise CommandError(line)
            if not (shown and (_moment_of(line) < _moment_of(shown[-1]) or line in shown)):
                self._show(line)
        return False

    def _show(self, line: str) -> None:
        self.failures = 0
        same = self.shown if self.shown and _moment_of(self.shown[-1]) == _moment_of(line) else []
        self.shown = [*same, line]
        print_out(line)

    def _events(self, query: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yields the events of one connection with their data."""
        event, data = "message", list[str]()
        stream = open_stream(self.api, self.path, query=query, within=SILENCE)
        with stream:
            if "text/event-stream" not in str(stream.headers.get("Content-Type")):
                raise UnreachableError(f"{self.api.transport.host} has answered, but not like Berth.")
            self.was_let_in = True
            while True:
                try:
                    line = stream.readline(LONGEST_LINE).decode(errors="replace")
                except Exception as error:  # noqa: BLE001 - many errors end a connection, and all mean the same
                    self.api.transport.explain(error, SILENCE)
                if not line:
                    return
                name, _, value = line.rstrip("\r\n").partition(":")
                value = value[1:] if value.startswith(" ") else value
                if not name and not value and line.strip() == "" and data:
                    yield event, "\n".join(data)
                    event, data = "message", list[str]()
                elif name == "event":
                    event = value
                elif name == "data":
                    data.append(value)

    def _may_pass(self, error: CommandError) -> bool:
        if isinstance(error, RefusedError):
            return self.was_let_in and (error.status >= 500 or error.status == 429)
        return self.was_let_in and isinstance(error, UnreachableError)


def _moment_of(line: str) -> str:
    """Returns the time at the beginning of the line."""
    return line.partition(" ")[0]
