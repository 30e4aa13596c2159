"""Agents of a fake Swarm whose memories are measured by jobs that only note where they would run."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.hardening import data_volume
from containers.swarm.services.services import Services
from containers.swarm.states.disk_images import DiskImages
from containers.swarm.states.disk_jobs import DiskJobs, State
from containers.swarm.states.disk_meter import DiskMeter
from containers.swarm.tasks.service_spec import IMAGE_LABEL
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, DiskUse
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import node
from tests.fakes.messages import Answer

HERE = "n1"
SOME = DiskUse(used=1024, files=1)
NOTHING = DiskUse(used=0, files=0)
OURS, OTHERS = "sha256:ours", "sha256:others"


def service(
    key: str, *, generation: int = 1, image: str = OURS, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    names = {PROJECT_LABEL: key, INSTANCE_LABEL: "berth", "berth.generation": str(generation), IMAGE_LABEL: image}
    mount = {"Type": "volume", "Source": volume_of(key), "Target": "/data", "VolumeOptions": {"Labels": {"a": "b"}}}
    program = {"Image": f"{image}@node", "User": "7:7", "Mounts": [mount]}
    spec = {"Name": f"a-{key}", "Labels": names | dict(labels or {}), "TaskTemplate": {"ContainerSpec": program}}
    row = {"ID": f"s-{key}-{generation}", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z"}
    return {**row, "Spec": spec}


def volume_of(key: str) -> str:
    return data_volume(f"a-{key}")


def task(key: str, number: int, state: str, there: str, *, generation: int = 1, has_run: bool = True) -> dict[str, Any]:
    container = {"ContainerStatus": {"ContainerID": f"c-{key}-{number}"}} if has_run else {}
    return {
        "ID": f"{key}-{number}",
        "ServiceID": f"s-{key}-{generation}",
        "NodeID": there,
        "DesiredState": "running",
        "CreatedAt": f"2026-01-01T00:00:0{number}Z",
        "Spec": {},
        "Status": {"State": state, "Timestamp": "2026-01-01T00:00:00Z", **container},
    }


class Jobs(DiskJobs):
    """Notes what would run, and reports one file in each volume unless the job fails."""

    def __init__(self) -> None:
        super().__init__(Connection())
        self.waves: list[dict[str, list[str]]] = []
        self.images: dict[str, str] = {}
        self.bad: set[str] = set()

    def run(
        self, work: Mapping[str, Sequence[State]], images: Mapping[str, str], most: Mapping[str, int]
    ) -> Generator[tuple[str, DiskUse], None, set[str]]:
        self.waves.append({there: [state.key for state in states] for there, states in work.items()})
        self.images |= images
        failed = {there for there, states in work.items() if self.bad & {state.key for state in states}}
        for there in work.keys() - failed:
            yield from ((state.key, SOME) for state in work[there])
        return failed


class Meter(DiskMeter):
    def __init__(self, lost: frozenset[str] = frozenset()) -> None:
        super().__init__(Connection(), Services(Connection()), lambda: lost, lambda name: None)
        self.jobs = self._jobs = Jobs()

    def of(self, *keys: str) -> dict[str, DiskUse]:
        return dict(self.measure(dict.fromkeys(keys, 100)))


@contextmanager
def measured_swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    """Three nodes without gateways. Berth talks to the first one, which has the volume of agent a."""
    monkeypatch.setattr(DiskImages, "_find_ours", lambda _: {OURS})
    with manager(monkeypatch) as found, override_settings(BERTH_INSTANCE="berth", BERTH_GATEWAY=False):
        found.rows["nodes"] = [node(1), node(2), node(3)]
        found.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": HERE}})
        volumes = [{"Name": volume_of("a"), "Labels": {INSTANCE_LABEL: "berth"}, "CreatedAt": "2026-01-01T00:00:00Z"}]
        found.bodies["/volumes"] = Answer.json(200, {"Volumes": volumes})
        found.rows["services"] = [service("a")]
        yield found
