"""Reads the logs of this host's agents, and the newest report of each."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import requests

from containers.agent_reports import health_after, newest_report
from containers.docker.lookup import Lookup
from containers.docker.observations import Details
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
from containers.vocabulary import Observation

REPORT_LINES = 50
"""How many of the last log lines are searched for the newest report."""


class Logs:
    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup

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
        """Returns the observation with the agent's newest report of this run, from its log or from a health check."""
        if found.run_began is None:
            return found.observation
        since = found.probe_report[0] if found.probe_report else found.run_began
        lines = self._read_tail(found.observation.container_id, since)
        printed = newest_report(lines, since=since)
        if printed and found.probe_report:
            health = health_after(printed[1], before=found.observation)
            return replace(found.observation, report=printed[1], health=health)
        newest = printed or found.probe_report
        return replace(found.observation, report=newest[1] if newest else None)

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
