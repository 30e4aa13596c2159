"""The jobs that measure agents' memories, and their images."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.swarm.gateway.payload import LABEL as GATEWAY_LABEL
from containers.swarm.gateway.payload import NODE_LABEL
from containers.swarm.states.disk_jobs import LABEL, DiskJobs, State, job_payload
from tests.containers.swarm.manager import Manager
from tests.containers.swarm.measured import OTHERS, OURS, Meter, measured_swarm, service, task, volume_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    with measured_swarm(monkeypatch) as found:
        yield found


def test_berth_s_own_images_measure_before_others(swarm: Manager) -> None:
    """The job's container can read the memories of all agents of the node."""
    swarm.rows["services"] = [service("a", image=OTHERS), service("b")]
    swarm.rows["tasks"] = [task("a", 1, "running", "n2"), task("a", 2, "shutdown", "n3"), task("b", 1, "failed", "n2")]
    meter = Meter()
    meter.of("a", "b")
    assert meter.jobs.images == {"n2": f"{OURS}@node"}
    swarm.rows["tasks"] = [task("a", 1, "running", "n2")]
    meter = Meter()
    meter.of("a")
    assert meter.jobs.images == {"n2": f"{OTHERS}@node"}
    labels = {GATEWAY_LABEL: "berth", NODE_LABEL: "n2"}
    gateway = {"Labels": labels, "TaskTemplate": {"ContainerSpec": {"Image": "gateway@node"}}}
    with override_settings(BERTH_GATEWAY=True):
        assert Meter().of("a") == {}
        swarm.rows["services"].append({**service("x"), "Spec": {**service("x")["Spec"], **gateway}})
        meter = Meter()
        meter.of("a")
    assert meter.jobs.images["n2"] == "gateway@node"


def test_a_job_can_only_read(swarm: Manager) -> None:
    state = State("a", service("a")["Spec"]["TaskTemplate"]["ContainerSpec"]["Mounts"][0])
    template = job_payload("true", [state], node="n2", image="i", api=(1, 44))["TaskTemplate"]
    program = template["ContainerSpec"]
    assert (program["CapabilityDrop"], program["CapabilityAdd"]) == (["ALL"], ["DAC_READ_SEARCH"])
    assert (program["ReadOnly"], program["Privileges"]["NoNewPrivileges"]) == (True, True)
    assert [(mount["Type"], mount["ReadOnly"], mount["Source"]) for mount in program["Mounts"]] == [
        ("volume", True, volume_of("a"))
    ]
    # Otherwise a node that has no such volume would create one that nobody recognises.
    assert program["Mounts"][0]["VolumeOptions"] == {"Labels": {"a": "b"}, "NoCopy": True}
    assert template["Placement"] == {"Constraints": ["node.id == n2"]}


def test_jobs_of_a_killed_process_are_removed(swarm: Manager) -> None:
    job = {**service("x"), "Spec": {"Name": "m", "Labels": {LABEL: "berth"}}}
    swarm.rows["services"] = [job]
    DiskJobs(Connection()).remove_left_behind()
    assert swarm.rows["services"] == []
