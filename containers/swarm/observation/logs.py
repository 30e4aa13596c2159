"""Reads what agents print, on any node. A Swarm's manager asks the nodes for it."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import requests

from containers.agent_reports import newest_report, parse_time
from containers.docker_api.client import Connection
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
from containers.swarm.services.services import Services
from containers.swarm.tasks.tasks import Run, Service
from containers.vocabulary import AgentReport, Observation

REPORT_LINES = 50
"""How many of the last log lines of a run are searched for the newest report."""

PATIENCE = 1.5
"""Seconds for a node to return the last lines that an agent printed."""

RECENT, ENDED_FOR = 4.0, 300.0
"""Seconds for which the report of a running task counts, and that of an ended one."""

MOST_REPORTS = 20_000


class Logs:
    def __init__(self, connection: Connection, services: Services, lost: Callable[[], frozenset[str]]) -> None:
        """`lost` returns the nodes that cannot be asked."""
        self._connection = connection
        self._services = services
        self._lost = lost
        self._reports: dict[tuple[str, bool], tuple[float, AgentReport | None]] = {}

    def read(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        service = self._services.look_up(of) if of else next(iter(self._services.ours(key)), None)
        if service is None:
            return iter(())
        runs = self._readable(service)
        if follow:
            return self._follow(service, runs, tail=tail, since=since)
        return iter(self._read_runs(runs, tail=tail, since=since))

    def _readable(self, service: Service) -> list[Run]:
        """Returns the runs with a log on a node that answers, newest first."""
        lost = self._lost() if service.runs else frozenset()
        return [run for run in service.runs if run.has_run and run.node not in lost]

    def _read_runs(self, runs: list[Run], *, tail: int | None, since: datetime | None) -> list[bytes]:
        """Returns the lines of all runs one after the other, like the log of a container that was restarted."""
        found: list[bytes] = []
        failure: UnreadableLogError | None = None
        for run in runs:
            left = None if tail is None else tail - len(found)
            if left == 0:
                break
            try:
                found = [*self._read_run(run, tail=left, since=since), *found]
            except UnreadableLogError as error:
                failure = error
        if failure is not None and not found:
            raise failure
        return found

    def _read_run(self, run: Run, *, tail: int | None, since: datetime | None) -> list[bytes]:
        params = log_params(tail=tail, since=since, follow=False)
        with suppress(MissingError, ConflictError):  # it is gone by now
            lines = list(read_lines(self._open("tasks", run.task_id, params)))
            return lines if tail is None else lines[-tail:]
        return []

    def _follow(
        self, service: Service, runs: list[Run], *, tail: int | None, since: datetime | None
    ) -> Iterator[bytes]:
        """Yields existing lines first and then new ones. Asked for both at once, a Swarm mixes up their order.

        The stream of a service stays open after its agent has ended, so each silence checks whether it has.
        """
        began = datetime.now(UTC)
        last = ""
        for line in self._read_runs(runs, tail=tail, since=since):
            last = line.partition(b" ")[0].decode(errors="replace")
            yield line
        begin = parse_time(last) or (began if tail == 0 else since)
        with suppress(MissingError):
            follower = Follower(
                lambda params: self._open("services", service.service_id, params), tail=None, since=begin
            )
            for line in follower.lines():
                if line and line.partition(b" ")[0].decode(errors="replace") <= last:
                    continue
                yield line
                if not line and not self._goes_on(service):
                    return

    def _goes_on(self, service: Service) -> bool:
        now = self._services.look_up(service.service_id)
        return now is not None and (now.is_wanted or any(run.may_live for run in now.runs))

    def _open(self, kind: str, identifier: str, params: dict[str, Any]) -> requests.Response:
        with self._connection.call(about_one=True) as client:
            return client.open_stream(f"/{kind}/{{0}}/logs", identifier, params=params, silence=SILENCE)

    def complete(self, seen: Observation, service: Service, *, is_enough_if_recent: bool = False) -> Observation:
        """Adds the newest report of the current run, or of the last run if there is none.

        `is_enough_if_recent` accepts a report that was read within the last seconds.
        """
        if seen.is_silent:
            return seen
        run = next((run for run in service.runs if run.has_run), None)
        if run is None or run.node in self._lost():
            return seen
        known = (run.task_id, run.has_ended)
        until, report = self._reports.get(known, (0.0, None))
        if not is_enough_if_recent or time.monotonic() >= until:
            report = self._read_report(run, report)
            self._remember(known, report)
        return replace(seen, report=report)

    def _remember(self, known: tuple[str, bool], report: AgentReport | None) -> None:
        self._reports[known] = time.monotonic() + (ENDED_FOR if known[1] else RECENT), report
        while len(self._reports) > MOST_REPORTS:
            self._reports.pop(next(iter(self._reports)), None)

    def _read_report(self, run: Run, known: AgentReport | None) -> AgentReport | None:
        """Returns the `known` report if the log does not come: its node is slow or away, or it is too long."""
        params = log_params(tail=REPORT_LINES, since=None, follow=False)
        try:
            with self._connection.call(PATIENCE, about_one=True) as client:
                answer = client.open_stream("/tasks/{0}/logs", run.task_id, params=params, silence=PATIENCE)
                newest = newest_report(split_lines(read_chunks(answer)), since=None)
                return newest[1] if newest else None
        except (MissingError, ConflictError):  # it is gone by now
            return None
        except EngineUnavailableError:
            return known
