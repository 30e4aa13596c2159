"""Reads the logs of this host's agents, and the newest report of each."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import requests

from containers.agent_reports import health_after, newest_report
from containers.docker.lookup import Lookup
from containers.docker.observations import Details
from containers.docker.pauses import Pauses
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import ConflictError, MissingError
from containers.docker_api.logs import (
    SILENCE,
    Follower,
    UnreadableLogError,
    log_params,
    read_chunks,
    read_lines,
    split_lines,
)
from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import time_limit
from containers.vocabulary import AgentReport, Observation

REPORT_LINES = 50
"""How many of the last log lines are searched for the newest report."""

SEARCH_WITHIN = 0.5
"""Seconds for that search, which takes a few milliseconds unless the agent prints megabytes a second."""

MOST_REPORTS = 20_000
"""Containers whose last printed report is remembered: many more than one engine runs."""


class Logs:
    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup
        self._slow = Pauses()
        self._printed: dict[str, tuple[datetime, tuple[datetime, AgentReport]]] = {}

    def read(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        container_id = of or self._find(key)
        if not container_id:
            return iter(())

        def open_stream(params: dict[str, Any]) -> requests.Response:
            return self._open_logs(container_id, params)

        try:
            if follow:
                return Follower(open_stream, tail=tail, since=since).lines()
            return read_lines(open_stream(log_params(tail=tail, since=since, follow=False)))
        except (MissingError, ConflictError):  # the container is gone or being removed
            return iter(())

    def _find(self, key: str) -> str:
        """Returns the id of the container whose log is read for this key, or an empty string if there is none."""
        found = self._lookup.find_all(key)
        return found[0].container_id if found else ""

    def complete(self, found: Details) -> Observation:
        """Returns the observation with the agent's newest report of this run, from its log or from a health check.

        If the log is too slow, the last report that was found there counts, and the result has `has_slow_log`.
        """
        if found.run_began is None:
            return found.observation
        since = found.probe_report[0] if found.probe_report else found.run_began
        seen = found.observation
        if (lines := self._search(seen.container_id, since)) is None:
            seen = replace(seen, has_slow_log=True)
        elif newest := newest_report(lines, since=since):
            self._remember(seen.container_id, found.run_began, newest)
        printed = self._last_printed(seen.container_id, found.run_began, since=since)
        if printed and found.probe_report:
            return replace(seen, report=printed[1], health=health_after(printed[1], before=seen))
        newest = printed or found.probe_report
        return replace(seen, report=newest[1] if newest else None)

    def _search(self, container_id: str, since: datetime) -> list[bytes] | None:
        """Returns the last lines, or None if they do not come in time. Such a log is left alone for a while."""
        self._slow.forget_old()
        if self._slow.is_on(container_id):
            return None
        try:
            with time_limit(SEARCH_WITHIN):
                lines = self._read_tail(container_id, since)
        except EngineUnavailableError:
            self._slow.begin(container_id)
            return None
        self._slow.end(container_id)
        return lines

    def _remember(self, container_id: str, run_began: datetime, report: tuple[datetime, AgentReport]) -> None:
        self._printed.pop(container_id, None)
        self._printed[container_id] = run_began, report
        while len(self._printed) > MOST_REPORTS:
            self._printed.pop(next(iter(self._printed)), None)

    def _last_printed(
        self, container_id: str, run_began: datetime, *, since: datetime
    ) -> tuple[datetime, AgentReport] | None:
        run, report = self._printed.get(container_id, (None, None))
        return report if report and run == run_began and report[0] >= since else None

    def _read_tail(self, container_id: str, since: datetime) -> list[bytes]:
        params = log_params(tail=REPORT_LINES, since=since, follow=False)
        try:
            with self._connection.call(about_one=True) as client:
                response = client.open_stream("/containers/{0}/logs", container_id, params=params, silence=CALL_LIMIT)
                return list(split_lines(read_chunks(response)))
        except (MissingError, ConflictError, UnreadableLogError):  # it is gone or being removed, or its log is damaged
            return []

    def _open_logs(self, container_id: str, params: dict[str, Any]) -> requests.Response:
        with self._connection.call(about_one=True) as client:
            return client.open_stream("/containers/{0}/logs", container_id, params=params, silence=SILENCE)
