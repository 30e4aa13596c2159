"""Runs the jobs that copy an agent's state on its node: one job at a time for each agent."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.identity import is_our_helper
from containers.outbound.call_limits import seconds_left, time_of_its_own
from containers.swarm.nodes.nodes import Node, list_nodes
from containers.swarm.states.copy_programs import LABEL, LACKS_PROGRAMS, OF_LABEL, OUT_OF_TIME
from containers.swarm.tasks.job_containers import remove_job
from containers.swarm.tasks.tasks import UNPLACED, Run, read_run

LIMIT, OVERHEAD, LOOK, CLEANING = 60.0, 5.0, 1.0, 5.0
"""Seconds for a job if its caller has no limit, for starting it and noticing its end, for a last look, and for removing
it."""

BEGINS_WITHIN = 10
"""Seconds that a job of a killed process has for its node to create its container before it is removed."""

OVER_AFTER = timedelta(minutes=5)
"""The age at which a job has ended by its own time limit, even if its node cannot say so any more. The managers' clock
may differ from ours."""

SILENT = "The machine {} does not say whether it has copied what the agent remembers."
STILL_COPIES = "A copy of what the agent remembers is still being made on {}. Try again in a moment."
REFUSED = "The machine {} could not copy what the agent remembers: {}"

_ASK_EVERY = 0.2


class Ended(NamedTuple):
    """How a job has ended. `error` is what its node says."""

    exit_code: int
    error: str


class CopyJobs:
    def __init__(self, connection: Connection, lost: Callable[[], frozenset[str]]) -> None:
        """`lost` returns the nodes that do not answer."""
        self._connection = connection
        self._lost = lost

    def run(self, payload: dict[str, Any], node: Node) -> Ended:
        """Runs the job on this node. Raises `EngineUnavailableError` if its end is unknown."""
        with self._connection.call(about_one=True) as client, understand_answer():
            job = client.create_service_from(payload)
        try:
            return self._await(job, node)
        finally:
            with time_of_its_own(CLEANING), suppress(EngineError):
                remove_job(self._connection, job)

    def end(self, key: str, *, leave_lost: bool = False) -> None:
        """Ends the jobs of a killed process. Returns once none of them can change the state or the copy.

        With `leave_lost` it does not wait for nodes that do not answer. Raises `EngineUnavailableError` if a job may
        still run.
        """
        chosen = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}", f"{OF_LABEL}={key}"]}
        with self._connection.call() as client, understand_answer():
            rows = [row for row in client.services(filters=chosen) if is_our_helper(row["Spec"]["Labels"], LABEL)]
        if rows:
            self._let_begin(chosen, len(rows))
        for row in rows:
            remove_job(self._connection, str(row["ID"]))
        until = time.monotonic() + time_for_job()
        while living := [run for run in self._read_runs(chosen) if run.may_live]:
            lost = self._lost()
            left = {run.node for run in living if not (run.node in lost and (leave_lost or _is_over(run)))}
            if not left:
                return
            if left <= lost or time.monotonic() >= until:
                names = [node.name for node in list_nodes(self._connection) if node.node_id in left]
                raise EngineUnavailableError(STILL_COPIES.format(", ".join(names)[:80]))
            time.sleep(_ASK_EVERY)

    def _let_begin(self, chosen: Mapping[str, Sequence[str]], jobs: int) -> None:
        """Waits until these jobs run, have ended, or cannot begin.

        A node that prepares a job's container when the job is removed goes on and creates the job's volumes, perhaps
        after we have removed them.
        """
        until = time.monotonic() + min(BEGINS_WITHIN, time_for_job())
        while time.monotonic() < until:
            runs, lost = self._read_runs(chosen), self._lost()
            if len(runs) >= jobs and not any(_may_begin(run) and run.node not in lost for run in runs):
                return
            time.sleep(_ASK_EVERY)

    def _await(self, job: str, node: Node) -> Ended:
        left = seconds_left()
        until = time.monotonic() + (LIMIT if left is None else max(LOOK, left - LOOK))
        while True:
            ended = [run for run in self._read_runs({"service": [job]}) if run.has_ended]
            if ended:
                return Ended(_exit_code(ended[0]), ended[0].error[:200])
            if time.monotonic() >= until or node.node_id in self._lost():
                raise EngineUnavailableError(SILENT.format(node.name))
            time.sleep(_ASK_EVERY)

    def _read_runs(self, chosen: Mapping[str, Sequence[str]]) -> list[Run]:
        with self._connection.call(about_one=True) as client, understand_answer():
            return [read_run(task) for task in client.tasks(filters=dict(chosen))]


def _may_begin(run: Run) -> bool:
    return not (run.has_ended or run.state == "running" or (run.state in UNPLACED and run.error))


def _is_over(run: Run) -> bool:
    return run.made_at is not None and abs(datetime.now(UTC) - run.made_at) > OVER_AFTER


def _exit_code(run: Run) -> int:
    return 0 if run.state == "complete" else run.exit_code or 1


def time_for_job() -> int:
    """Returns the seconds that a job's program has, so that its end is known within the caller's time."""
    left = seconds_left()
    return max(1, int((LIMIT if left is None else left) - OVERHEAD))


def check(ended: Ended, node: Node) -> None:
    """Raises `EngineRefusedError` unless the job has done its work."""
    if ended.exit_code == 0:
        return
    reason = ended.error or "its program failed"
    if ended.exit_code in OUT_OF_TIME:
        reason = "it took too long."
    elif ended.exit_code == LACKS_PROGRAMS:
        reason = "the image there lacks tar, find, timeout or another usual program."
    raise EngineRefusedError(REFUSED.format(node.name, reason))
