"""Measuring agents' memories, on every engine."""

from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from containers import volume_sizes
from containers.docker.volumes import measuring
from containers.docker.volumes.measuring import LABEL, measuring_payload
from containers.identity import container_name
from containers.vocabulary import DiskUse
from tests.containers.disk_use import MIB, keep, measure
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import EngineUnderTest, deploy
from tests.containers.memory_under_test import MemoryUnderTest
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.waiting import wait_until


def test_the_size_and_number_of_an_agent_s_files_are_measured(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    before = measure(under_test)[under_test.key]
    assert before.files == 0
    assert before.used < MIB
    keep(under_test, mebibytes=3)
    after = measure(under_test)[under_test.key]
    assert after.files == 1
    assert 3 * MIB <= after.used < 4 * MIB


def test_many_empty_files_are_counted_within_a_time_limit(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    keep(under_test, files=50)
    assert measure(under_test)[under_test.key].files == 50
    assert measure(under_test, most=20)[under_test.key] == DiskUse(used=0, files=20)


def test_stopped_agents_are_measured_too_and_empty_ones_use_nothing(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    keep(under_test, mebibytes=1)
    under_test.engine.stop(under_test.key, timeout=2)
    nobody = str(uuid4())
    found = measure(under_test, under_test.key, nobody)
    assert found.keys() == {under_test.key, nobody}
    assert found[under_test.key].used >= MIB
    assert found[nobody] == DiskUse(used=0, files=0)
    under_test.engine.remove(under_test.key, volumes=True)
    assert measure(under_test)[under_test.key] == DiskUse(used=0, files=0)


def test_no_other_volume_is_measured_and_nothing_is_left_behind(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    other = str(uuid4())
    deploy(under_test, key=other)
    volumes = under_test.volumes(container_name(other)) | under_test.volumes(under_test.name)
    assert measure(under_test).keys() == {under_test.key}
    assert measure(under_test, under_test.key, other).keys() == {under_test.key, other}
    assert under_test.volumes(container_name(other)) | under_test.volumes(under_test.name) == volumes
    under_test.engine.remove(other, volumes=True)
    if isinstance(under_test, DockerUnderTest):
        assert not measuring_containers(under_test)
    if isinstance(under_test, SwarmUnderTest):
        assert not measuring_jobs(under_test)


def measuring_containers(under_test: DockerUnderTest | SwarmUnderTest) -> list[str]:
    chosen = {"label": f"{LABEL}={settings.BERTH_INSTANCE}"}
    return [each["Id"] for each in under_test.client.containers(all=True, filters=chosen)]


def measuring_jobs(under_test: SwarmUnderTest) -> list[str]:
    return [each["ID"] for each in under_test.client.services(filters={"label": LABEL})]


def test_a_removal_does_not_wait_for_a_running_measurement(
    under_test: EngineUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker removes no volume that a container uses."""
    if isinstance(under_test, MemoryUnderTest):
        pytest.skip("It measures in no container.")
    assert isinstance(under_test, DockerUnderTest | SwarmUnderTest)
    monkeypatch.setattr(volume_sizes, "_SCRIPT", "measure() { sleep 1000; }")
    deploy(under_test)
    found: list[dict[str, DiskUse]] = []
    thread = Thread(target=lambda: found.append(measure(under_test)))
    thread.start()
    wait_until(lambda: len(measuring_containers(under_test)) == 1)
    under_test.engine.remove(under_test.key, volumes=True)
    assert not under_test.volumes(under_test.name)
    thread.join(60)
    assert not thread.is_alive()
    assert [each.get(under_test.key) for each in found] == [None]
    assert not measuring_containers(under_test)
    assert not under_test.volumes(under_test.name)


@pytest.mark.docker
def test_a_volume_that_hangs_delays_no_other(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line is missing when the time is over, and the next measurement removes the remains."""
    monkeypatch.setattr(measuring.Measuring, "_read", lambda self, helper: read_one(helper))

    def read_one(helper: str) -> str:
        wait_until(lambda: b"measured" in docker_under_test.client.logs(helper))
        return str(docker_under_test.client.logs(helper).decode())

    hanging = volume_sizes._SCRIPT.replace('cd "/v/$1"', "test -e /v/$1/hang && sleep 1000; cd /v/$1")
    monkeypatch.setattr(volume_sizes, "_SCRIPT", hanging)
    deploy(docker_under_test)
    docker_under_test.run("touch", "/data/hang")
    other = str(uuid4())
    deploy(docker_under_test, key=other)
    assert measure(docker_under_test, docker_under_test.key, other).keys() == {other}
    assert not measuring_containers(docker_under_test)


@pytest.mark.docker
def test_a_volume_with_which_nothing_starts_delays_no_other(
    docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = measuring.measuring_payload

    def refuse(script: str, volumes: Sequence[tuple[str, Mapping[str, str]]], *, image: str) -> dict[str, Any]:
        is_bad = any(name.startswith(docker_under_test.name) for name, _ in volumes)
        return real(script, volumes, image="berth-test/missing" if is_bad else image)

    monkeypatch.setattr(measuring, "measuring_payload", refuse)
    deploy(docker_under_test)
    other = str(uuid4())
    deploy(docker_under_test, key=other)
    assert measure(docker_under_test, docker_under_test.key, other).keys() == {other}


@pytest.mark.docker
def test_without_quota_support_agents_run_without_a_quota(docker_under_test: DockerUnderTest) -> None:
    """The engine refuses once, which leaves nothing behind, and is not asked again for every agent."""
    deploy(docker_under_test, disk_ceiling=64 * MIB)
    volume = next(each for each in docker_under_test.volumes(docker_under_test.name) if each.endswith("-data"))
    options = docker_under_test.client.inspect_volume(volume)["Options"]
    assert options in (None, {"size": str(64 * MIB)})
    assert (options is None) == (docker_under_test.engine._quota._refused_until > 0)
    deploy(docker_under_test, disk_ceiling=64 * MIB, generation=2)
    assert docker_under_test.is_running(docker_under_test.name)


@pytest.mark.docker
def test_the_container_that_measures_can_only_read(docker_under_test: DockerUnderTest) -> None:
    payload = measuring_payload("true", [("a-data", {"berth.project": "a"})], image="x")
    host = payload["HostConfig"]
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], ["DAC_READ_SEARCH"])
    assert (host["NetworkMode"], host["ReadonlyRootfs"]) == ("none", True)
    assert all(mount["ReadOnly"] and mount["Type"] == "volume" for mount in host["Mounts"])
    assert not {"Binds", "Privileged", "Devices", "PidMode"} & host.keys()
    deploy(docker_under_test)
    volume = next(each for each in docker_under_test.volumes(docker_under_test.name) if each.endswith("-data"))
    script = "touch /v/0/x; touch /x; cat /v/0/secret; kill 1 2>&1; echo done"
    payload = measuring_payload(script, [(volume, {})], image=docker_under_test.image)
    payload["HostConfig"]["AutoRemove"] = False
    client = docker_under_test.client
    made = client.create_container_from_config(payload, f"{docker_under_test.name}-reads")["Id"]
    try:
        docker_under_test.run("sh", "-c", "umask 077; echo a secret > /data/secret")
        client.start(made)
        client.wait(made)
        assert client.logs(made, stderr=False).decode().splitlines()[0] == "a secret"
        assert b"Read-only file system" in client.logs(made, stdout=False)
    finally:
        client.remove_container(made, force=True, v=True)
    assert docker_under_test.run("ls", "-A", "/data")[1].split() == ["secret"]
