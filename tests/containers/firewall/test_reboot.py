"""After a reboot the rules are gone, and an engine that starts its agents by itself does so before Berth can set any.

The machine that reboots is a separate engine in its own network namespace. A forbidden address on its `lo` has an open
door; the agents try it from their first moment on.
"""

import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.docker.networks.rules_container import LABEL
from containers.errors import FirewallMissingError
from containers.firewall.boot import SCRIPT
from containers.programs import is_root
from tests.containers.firewall.iptables_image import make_iptables_image
from tests.containers.firewall.machine import METADATA, PUBLIC, Machine, make_machine
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter", "dockerd")))),
        reason="takes root, iptables, ip and dockerd",
    ),
]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with make_machine() as made:
        monkeypatch.setenv("DOCKER_HOST", made.engine.url)
        yield made


@pytest.mark.rare(1)
def test_agents_that_the_engine_starts_reach_nothing_until_the_rules_are_set(machine: Machine) -> None:
    make_iptables_image(machine.client)
    with override_settings(BERTH_BOOT_FIREWALL="on"):
        machine.deploy(DockerEngine())
        assert machine.reached() == {PUBLIC}
        assert machine.ever_reached() == {PUBLIC}
        # Without the unit there is a gap, in which the agent reaches the door.
        machine.reboot()
        wait_until(machine.is_running, within=60)
        assert machine.reached() == {METADATA, PUBLIC}
        # With it, there is none.
        machine.reboot(first=SCRIPT)
        wait_until(machine.is_running, within=60)
        assert machine.reached() == set()
        assert DockerEngine().ensure_firewall() is None
        assert machine.reached() == {PUBLIC}
        assert METADATA not in machine.ever_reached()


@pytest.mark.rare(3)
def test_without_the_unit_agents_wait_for_the_rules(machine: Machine) -> None:
    make_iptables_image(machine.client)
    with override_settings(BERTH_BOOT_FIREWALL="off"):
        engine = DockerEngine()
        machine.deploy(engine)
        assert machine.reached() == {PUBLIC}
        machine.reboot()
        found = engine.inspect(machine.key)
        assert found
        assert not found.is_up
        since = engine.started_at()
        assert since
        assert found.finished_at
        assert found.finished_at <= since
        # The object that had set the rules before the reboot notices that they are another engine's now.
        machine.deploy(engine)
        assert machine.reached() == {PUBLIC}
        assert machine.ever_reached() == {PUBLIC}
        assert machine.client.containers(all=True, filters={"label": f"{LABEL}={settings.BERTH_INSTANCE}"}) == []


def test_without_required_rules_no_agent_is_started(machine: Machine) -> None:
    with override_settings(BERTH_BOOT_FIREWALL="off", BERTH_FIREWALL="required"):
        engine = DockerEngine()
        warning = engine.ensure_firewall()
        assert warning
        assert "manage.py build_images" in warning
        with pytest.raises(FirewallMissingError):
            machine.deploy(engine)
        assert machine.client.containers(all=True) == []
        make_iptables_image(machine.client)
        machine.deploy(engine)
        assert machine.reached() == {PUBLIC}


@pytest.mark.rare(3)
def test_an_end_together_with_the_engine_is_distinguished_from_a_crash(machine: Machine) -> None:
    make_iptables_image(machine.client)
    with override_settings(BERTH_BOOT_FIREWALL="off"):
        engine = DockerEngine()
        machine.deploy(engine)
        machine.reboot()
        since, found = engine.started_at(), engine.inspect(machine.key)
        assert since
        assert found
        assert not found.is_up
        assert found.finished_at
        assert found.finished_at <= since
        machine.deploy(engine)
        machine.client.kill(machine.name)
        wait_until(lambda: not machine.is_running())
        found = engine.inspect(machine.key)
        assert found
        assert found.finished_at
        assert found.finished_at > since
