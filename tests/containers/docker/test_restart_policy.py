"""The engine restarts agents only if their network stays closed until the rules are set."""

from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.firewall import boot
from containers.firewall.boot import restarts_by_engine
from containers.identity import container_name
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

POLICIES = {"on": "unless-stopped", "off": "no"}


def policy_of(docker_under_test: DockerUnderTest, name: str = "") -> str:
    found: dict[str, Any] = docker_under_test.client.inspect_container(name or docker_under_test.name)
    return str(found["HostConfig"]["RestartPolicy"]["Name"])


@pytest.mark.docker
@pytest.mark.parametrize("setting", POLICIES)
def test_an_agent_gets_the_restart_policy_of_its_host(docker_under_test: DockerUnderTest, setting: str) -> None:
    with override_settings(BERTH_BOOT_FIREWALL=setting):
        deploy(docker_under_test)
    assert policy_of(docker_under_test) == POLICIES[setting]


@pytest.mark.docker
@pytest.mark.parametrize(("before", "after"), [("on", "off"), ("off", "on")])
def test_existing_agents_get_the_policy_without_a_restart(
    docker_under_test: DockerUnderTest, before: str, after: str
) -> None:
    key = f"{docker_under_test.key}-2"
    stopped = container_name(key)
    with override_settings(BERTH_BOOT_FIREWALL=before):
        running = deploy(docker_under_test)
        deploy(docker_under_test, key=key)
        docker_under_test.engine.stop(key, timeout=2)
    with override_settings(BERTH_BOOT_FIREWALL=after):
        DockerEngine().ensure_firewall()
    assert policy_of(docker_under_test) == policy_of(docker_under_test, stopped) == POLICIES[after]
    found = docker_under_test.engine.inspect(docker_under_test.key)
    assert found
    assert (found.started_at, found.is_up) == (running.started_at, True)


@pytest.mark.docker
def test_an_engine_reports_when_it_was_started(docker_under_test: DockerUnderTest) -> None:
    running = deploy(docker_under_test)
    since = docker_under_test.engine.started_at()
    assert since
    assert running.started_at
    assert since < running.started_at


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with docker.service and without Berth's units. Returns the link that enables ours."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    link, unit = tmp_path / "docker.service.requires" / boot.UNIT, tmp_path / "docker.service"
    monkeypatch.setattr(boot, "ENGINE_REQUIRES", link)
    monkeypatch.setattr(boot, "ENGINE_UNITS", (tmp_path / "nowhere/docker.service", unit))
    unit.write_text("")
    (tmp_path / boot.UNIT).write_text("")
    link.parent.mkdir()
    return link


def enable(link: Path) -> None:
    link.symlink_to(link.parent.parent / boot.UNIT)


@pytest.mark.one_database
def test_the_unit_counts_only_once_the_engine_waits_for_it(guarded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not restarts_by_engine()
    enable(guarded)
    assert restarts_by_engine()
    with override_settings(BERTH_BOOT_FIREWALL="off"):
        assert not restarts_by_engine()
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2376")
    with override_settings(BERTH_BOOT_FIREWALL="on"):
        assert restarts_by_engine()


ENGINES = {
    "": True, "unix://": True, "unix:///run/docker.sock": True, "unix:///var/run/docker.sock": True,
    "unix:///run//docker.sock": True,
    "unix:///run/user/1000/docker.sock": False, "unix:///run/podman/podman.sock": False, "unix:///tmp/d.sock": False,
    "unix://var/run/docker.sock": False, "tcp://10.0.0.1:2376": False, "tcp:///run/docker.sock": False,
    "ssh://root@host": False, "http+unix:///run/docker.sock": False, "npipe://": False,
}  # fmt: skip


@pytest.mark.one_database
@pytest.mark.parametrize("address", ENGINES)
def test_the_unit_counts_only_for_the_engine_that_waits_for_it(
    guarded: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """An engine on another socket of this machine starts its agents without regard to the unit."""
    enable(guarded)
    monkeypatch.setenv("DOCKER_HOST", address)
    assert restarts_by_engine() is ENGINES[address]


@pytest.mark.one_database
def test_the_usual_socket_may_lead_to_another_engine(
    guarded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enable(guarded)
    usual, rootless = tmp_path / "docker.sock", tmp_path / "rootless.sock"
    monkeypatch.setattr(boot, "ENGINE_SOCKETS", (usual,))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{usual}")
    usual.touch()
    assert restarts_by_engine()
    usual.rename(rootless)
    usual.symlink_to(rootless)
    assert not restarts_by_engine()


@pytest.mark.one_database
def test_the_unit_counts_for_no_engine_that_is_not_the_system_s(guarded: Path) -> None:
    """The Docker of a snap has the usual socket and a unit of its own, which does not know ours."""
    enable(guarded)
    (guarded.parent.parent / "docker.service").unlink()
    assert not restarts_by_engine()
