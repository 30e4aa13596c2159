"""Who starts agents again: the engine only where their network is closed until the rules are set."""

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
def test_an_agent_gets_the_policy_of_its_host(docker_under_test: DockerUnderTest, setting: str) -> None:
    with override_settings(BERTH_BOOT_FIREWALL=setting):
        deploy(docker_under_test)
    assert policy_of(docker_under_test) == POLICIES[setting]


@pytest.mark.docker
@pytest.mark.parametrize(("before", "after"), [("on", "off"), ("off", "on")])
def test_agents_that_are_there_already_get_it_too_and_go_on(
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
def test_an_engine_says_when_it_was_started(docker_under_test: DockerUnderTest) -> None:
    running = deploy(docker_under_test)
    since = docker_under_test.engine.started_at()
    assert since
    assert running.started_at
    assert since < running.started_at


def test_the_unit_counts_only_once_the_engine_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    link = tmp_path / "docker.service.requires" / boot.UNIT
    monkeypatch.setattr(boot, "ENGINE_REQUIRES", link)
    assert not restarts_by_engine()
    (tmp_path / boot.UNIT).write_text("")
    assert not restarts_by_engine()
    link.parent.mkdir()
    link.symlink_to(tmp_path / boot.UNIT)
    assert restarts_by_engine()
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2376")
    assert not restarts_by_engine()
    with override_settings(BERTH_BOOT_FIREWALL="on"):
        assert restarts_by_engine()
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    with override_settings(BERTH_BOOT_FIREWALL="off"):
        assert not restarts_by_engine()
