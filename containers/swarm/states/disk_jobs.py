"""Runs the jobs that measure volumes. Each reads everything in them, and changes nothing."""

import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from django.conf import settings

from containers.agent_reports import parse_time
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.logs import SILENCE, read_lines
from containers.errors import EngineError
from containers.identity import helper_labels, is_our_helper, network_name
from containers.outbound.call_limits import time_of_its_own
from containers.swarm.tasks.job_containers import MEASURES, remove_job, remove_job_containers
from containers.swarm.tasks.service_spec import confinement
from containers.swarm.tasks.tasks import Run, read_run
from containers.vocabulary import DiskUse
from containers.volume_sizes import (
    COUNTING_LIMIT,
    MEMORY,
    NANO_CPUS,
    PATH,
    PIDS,
    counting_script,
    counting_target,
    read_counts,
)

LABEL = MEASURES

STARTS_WITHIN, CLEANING = 20.0, 5.0
"""Seconds for a node to begin, in addition to those for counting, and for removing a job."""

_LOOK_EVERY = 0.5
_LEFT_BEHIND = timedelta(minutes=5)


class State(NamedTuple):
    """An agent's memory, with the mount of its service."""

    key: str
    mount: Mapping[str, Any]

    @property
    def volume(self) -> str:
        return str(self.mount["Source"])


class DiskJobs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(
        self, work: Mapping[str, Sequence[State]], images: Mapping[str, str], most: Mapping[str, int]
    ) -> Generator[tuple[str, DiskUse], None, set[str]]:
        """Runs one job on each of these nodes, all at once. Yields what is known after a minute at the latest.

        Returns the nodes on which the job failed, through `yield from`.
        """
        jobs: dict[str, str] = {}
        try:
            for node, states in work.items():
                jobs[self._create(node, states, images[node], most)] = node
            ended = self._await(jobs)
            for job, node in jobs.items():
                for run in ended.get(job, ()):
                    yield from read_counts(self._read(run), [state.key for state in work[node]])
        finally:
            for job in jobs:
                with time_of_its_own(CLEANING), suppress(EngineError):
                    remove_job(self._connection, job)
        return {node for job, node in jobs.items() if any(run.state in {"failed", "rejected"} for run in ended[job])}

    def remove_left_behind(self) -> None:
        """Removes jobs whose process was killed before it could do so."""
        for row in self._rows():
            made_at = parse_time(row["CreatedAt"])
            # The engine's clock may differ from ours, in either direction.
            if made_at is None or abs(datetime.now(UTC) - made_at) > _LEFT_BEHIND:
                remove_job(self._connection, str(row["ID"]))

    def remove_using(self, volume: str) -> None:
        """Removes jobs that mount this volume, and their containers on our own node."""
        for row in self._rows():
            with understand_answer():
                mounts = row["Spec"]["TaskTemplate"]["ContainerSpec"].get("Mounts") or []
                is_used = any(mount["Source"] == volume for mount in mounts)
            if is_used:
                remove_job(self._connection, str(row["ID"]))
        remove_job_containers(self._connection, volume)

    def _create(self, node: str, states: Sequence[State], image: str, most: Mapping[str, int]) -> str:
        script = f"{counting_script([most[state.key] for state in states])}\nwait"
        with self._connection.call(about_one=True) as client, understand_answer():
            return client.create_service_from(
                job_payload(script, states, node=node, image=image, api=client.read_api())
            )

    def _await(self, jobs: Collection[str]) -> dict[str, list[Run]]:
        """Returns the tasks of each job when all have ended or are removed, or when their time is over."""
        until = time.monotonic() + COUNTING_LIMIT + STARTS_WITHIN
        while True:
            runs = self._read_runs(jobs)
            waits = [job for job, found in runs.items() if not found or not all(run.has_ended for run in found)]
            if not waits or time.monotonic() >= until or not {str(row["ID"]) for row in self._rows()} & set(waits):
                return runs
            time.sleep(_LOOK_EVERY)

    def _read_runs(self, jobs: Collection[str]) -> dict[str, list[Run]]:
        chosen = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]}  # of a removed job, asked for by its id, it is 404
        runs: dict[str, list[Run]] = {job: [] for job in jobs}
        with self._connection.call(about_one=True) as client, understand_answer():
            for task in client.tasks(filters=chosen):
                if task["ServiceID"] in runs:
                    runs[task["ServiceID"]].append(read_run(task))
        return runs

    def _read(self, run: Run) -> str:
        """Returns what the task has printed; nothing if its node does not hand it over."""
        if not run.has_run:
            return ""
        with suppress(EngineError):
            with self._connection.call(about_one=True) as client:
                params = {"stdout": 1, "stderr": 0, "tail": "all"}
                answer = client.open_stream("/tasks/{0}/logs", run.task_id, params=params, silence=SILENCE)
            return b"\n".join(read_lines(answer)).decode(errors="replace")
        return ""

    def _rows(self) -> list[Any]:
        chosen = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]}
        with self._connection.call() as client, understand_answer():
            return [row for row in client.services(filters=chosen) if is_our_helper(row["Spec"]["Labels"], LABEL)]


def job_payload(script: str, states: Sequence[State], *, node: str, image: str, api: tuple[int, int]) -> dict[str, Any]:
    """Returns the body of POST /services/create. It runs as root, because each volume has its own user; it may only
    read.

    If a volume is gone meanwhile, the node creates an empty one, with the labels that the agent's has.
    """
    return {
        "Name": f"{settings.BERTH_INSTANCE}-measures-{uuid4().hex[:8]}",
        "Labels": helper_labels(LABEL),
        "Mode": {"GlobalJob": {}},
        "EndpointSpec": {"Mode": "dnsrr"},  # an agents' network has no addresses of services
        "TaskTemplate": {
            "ContainerSpec": {
                **confinement(api),
                "CapabilityAdd": ["DAC_READ_SEARCH"],
                "Image": image,
                "Labels": helper_labels(LABEL),
                "Command": ["/bin/sh", "-c", script],
                "Env": [PATH, "LD_LIBRARY_PATH=", "LD_PRELOAD="],
                "User": "0:0",
                "HealthCheck": {"Test": ["NONE"]},
                "Mounts": [_mount(place, state) for place, state in enumerate(states)],
            },
            "Resources": {"Limits": {"MemoryBytes": MEMORY, "NanoCPUs": NANO_CPUS, "Pids": PIDS}},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [f"node.id == {node}"]},
            "Networks": [{"Target": network_name()}],
            "LogDriver": {"Name": "local", "Options": {"max-size": "1m", "max-file": "2"}},
        },
    }


def _mount(place: int, state: State) -> dict[str, Any]:
    options = {**(state.mount.get("VolumeOptions") or {}), "NoCopy": True}
    return {**state.mount, "Target": counting_target(place), "ReadOnly": True, "VolumeOptions": options}
