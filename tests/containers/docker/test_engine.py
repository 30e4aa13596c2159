"""Behaviour that only a real Docker can show."""

import threading
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from containers.credential_digest import digest_credentials
from containers.docker.drift import wanted_policy
from containers.docker.engine import DockerEngine
from containers.docker.gateway.egress import Egress
from containers.errors import EngineRefusedError, FirewallMissingError
from containers.firewall.bridge import bridge_name
from containers.gateway.vocabulary import Reach
from containers.hardening import container_payload
from containers.identity import network_name, own_labels
from containers.vocabulary import PROJECT_LABEL, ContainerState, Health
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy, make_spec
from tests.waiting import wait_until

pytestmark = pytest.mark.docker


def test_the_engine_applied_the_host_config_unchanged(docker_under_test: DockerUnderTest) -> None:
    spec = make_spec(docker_under_test)
    docker_under_test.engine.deploy(spec, confirm=lambda: True)
    own, digest = settings.BERTH_CONTAINER_NETWORK, digest_credentials(spec)
    given = container_payload(spec, network=own, restart_policy=wanted_policy(), digest=digest)
    taken: dict[str, Any] = docker_under_test.client.inspect_container(docker_under_test.name)
    for field, value in given["HostConfig"].items():
        assert (taken["HostConfig"][field] or None) == (value or None), field
    assert taken["Config"]["User"] == "10001:10001"
    assert taken["Config"]["StopTimeout"] == spec.stop_timeout
    assert taken["NetworkSettings"]["Ports"] == {}


def test_the_container_is_as_confined_as_it_says(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, memory=128 << 20)  # files in /tmp count as memory
    assert docker_under_test.run("id", "-u")[1].strip() == "10001"
    assert docker_under_test.run("touch", "/anywhere")[0] != 0
    assert docker_under_test.run("sh", "-c", "cp /bin/busybox /tmp/x && /tmp/x true")[0] != 0
    assert docker_under_test.run("sh", "-c", "dd if=/dev/zero of=/tmp/big bs=1M count=100")[0] != 0
    assert docker_under_test.run("test", "-S", "/var/run/docker.sock")[0] != 0
    assert "CapBnd:\t0000000000000000" in docker_under_test.run("cat", "/proc/1/status")[1]
    assert docker_under_test.run("sh", "-c", "echo fine > /data/x && echo fine > /run/agent/x")[0] == 0


def test_the_network_is_ours_and_keeps_agents_apart(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    network = docker_under_test.client.inspect_network(network_name())
    assert network["Labels"] == own_labels()
    assert network["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert network["Options"]["com.docker.network.bridge.name"] == bridge_name()
    assert network["EnableIPv6"] is False


def test_a_removed_network_is_created_again(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    docker_under_test.client.remove_network(settings.BERTH_CONTAINER_NETWORK)
    assert deploy(docker_under_test).state is ContainerState.RUNNING


def test_a_foreign_network_is_refused(docker_under_test: DockerUnderTest) -> None:
    with (
        override_settings(BERTH_CONTAINER_NETWORK="bridge"),
        pytest.raises(EngineRefusedError, match="was not created by"),
    ):
        deploy(
            DockerUnderTest(
                DockerEngine(), docker_under_test.client, (docker_under_test.image, docker_under_test.probed_image)
            )
        )


def test_the_output_of_a_failed_health_check_is_the_report(
    docker_under_test: DockerUnderTest,
) -> None:
    deploy(docker_under_test, mode="silent", image=docker_under_test.probed_image)

    def find() -> str:
        observation = docker_under_test.engine.inspect(docker_under_test.key)
        return observation.report.detail if observation and observation.report else ""

    assert wait_until(find) == "warming up"
    [listed] = docker_under_test.engine.observe({"berth.project": docker_under_test.key})
    assert listed.health in {Health.STARTING, Health.UNHEALTHY}
    assert listed.report
    assert listed.started_at


def test_a_report_of_the_previous_run_does_not_count(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, mode="moody")
    wait_until(lambda: docker_under_test.run("test", "-e", "/data/been")[0] == 0)
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    deploy(docker_under_test, mode="moody")

    def find() -> str:
        observation = docker_under_test.engine.inspect(docker_under_test.key)
        assert observation
        assert observation.report is None or observation.report.state == "degraded"
        return observation.report.code if observation.report else ""

    assert wait_until(find) == "provider_key"


def test_long_lines_are_cut_and_the_next_line_is_whole(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test, mode="long")

    def find() -> list[bytes]:
        lines = list(docker_under_test.engine.logs(docker_under_test.key))
        return lines if lines and lines[-1].endswith(b" end") else []

    long, end = wait_until(find)
    assert len(long) == 16 * 1024
    assert set(long.partition(b" ")[2]) == {ord("x")}
    assert end.partition(b" ")[2] == b"end"


def test_a_busy_processor_shows_in_the_usage(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.stats(docker_under_test.key)
    spin = threading.Thread(target=docker_under_test.run, args=("sh", "-c", "for i in $(seq 200000); do :; done"))
    spin.start()

    def busy() -> float:
        usage = docker_under_test.engine.stats(docker_under_test.key)
        assert usage
        return usage.cpu_percent

    assert wait_until(busy, every=1.2) <= 60  # the plan is half a core
    spin.join()


def test_one_client_serves_many_threads(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    failures: list[Exception] = []

    def ask() -> None:
        try:
            for _ in range(20):
                assert docker_under_test.engine.inspect(docker_under_test.key)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


@pytest.mark.parametrize("change", ["off its network", "with another address"])
def test_an_agent_gets_back_the_address_that_the_gateway_knows(docker_under_test: DockerUnderTest, change: str) -> None:
    engine, client, name = docker_under_test.engine, docker_under_test.client, docker_under_test.name
    network = engine.agents_network()
    address = str(network.addresses(Reach.INTERNET)[7])
    deploy(docker_under_test, address=address)
    (is_on,) = client.inspect_container(name)["NetworkSettings"]["Networks"]
    client.disconnect_container_from_network(name, is_on)
    if change == "with another address":
        client.connect_container_to_network(name, is_on, ipv4_address=str(network.addresses(Reach.INTERNET)[8]))
    (seen,) = engine.observe({PROJECT_LABEL: docker_under_test.key})
    assert seen.has_drifted
    engine.realign(docker_under_test.key)
    assert docker_under_test.address_of(name) == address
    found = engine.inspect(docker_under_test.key)
    assert found
    assert not found.has_drifted


@pytest.mark.parametrize("runs_already", [True, False])
def test_without_rules_nothing_starts_and_nothing_that_runs_is_touched(
    runs_already: bool, docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone removes the rules while the engine creates the container."""
    deploy(docker_under_test)
    if not runs_already:
        docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    before = docker_under_test.id_of(docker_under_test.name)

    def refuse(_: object) -> None:
        raise FirewallMissingError

    monkeypatch.setattr(Egress, "require", refuse)
    with pytest.raises(FirewallMissingError):
        deploy(docker_under_test, generation=2)
    assert docker_under_test.id_of(docker_under_test.name) == before
    assert before is None or docker_under_test.is_running(before)
