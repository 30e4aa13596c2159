"""`manage.py uninstall` removes the firewall rules of this installation, and those of no other one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from containers.docker import removal
from containers.docker.networks import rules_container
from containers.docker.networks.new_networks import BRIDGE
from containers.docker_api.building.image_build import FIREWALL, inspect_image
from containers.docker_api.client import Connection
from containers.firewall.bridge import bridge_name, bridges_with_rules, former_bridge_name, gateway_bridge_name
from containers.firewall.iptables import can_set_rules, rules_for
from containers.firewall.script import as_removal, as_script
from containers.identity import own_labels
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.firewall.iptables_image import make_iptables_image
from tests.containers.test_uninstall import data, names, own_network, rules, uninstall

__all__ = ["data", "own_network"]

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


@contextmanager
def rules_of(*bridges: str) -> Iterator[None]:
    """Sets the rules of these bridges on this host, whether it has the bridges or not."""
    families = [family for bridge in bridges for family in rules_for(bridge, resolvers=[])]
    subprocess.run(["/bin/sh"], input=as_script(families), text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["/bin/sh"], input=as_removal(families), text=True, check=True)


@contextmanager
def interface(name: str) -> Iterator[None]:
    subprocess.run(["ip", "link", "add", name, "type", "bridge"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "link", "delete", name], check=True)


@pytest.fixture(params=[True, False], ids=["here", "through the engine"])
def way(
    request: pytest.FixtureRequest, docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Rules are removed here, or through the engine, which is given the image for that unless it has one."""
    monkeypatch.setattr(removal, "can_set_rules", lambda: request.param)
    takes_image = not request.param and inspect_image(Connection(), FIREWALL.image) is None
    if takes_image:
        make_iptables_image(docker_under_test.client)
    yield
    if takes_image:
        docker_under_test.client.remove_image(FIREWALL.image, force=True)


@pytest.mark.docker
@pytest.mark.usefixtures("own_network", "way")
@pytest.mark.skipif(not can_set_rules(), reason="takes root and iptables")
def test_uninstall_removes_the_rules_of_networks_that_are_gone() -> None:
    """Those of the gateway's network too, whose address only a running Berth knows."""
    another = f"berth-{uuid4().hex[:8]}"
    with rules_of(bridge_name(), gateway_bridge_name(), former_bridge_name(), another):
        assert "Berth has been removed" in uninstall("--yes")
        left = rules().lower()
    assert another in left
    assert not [bridge for bridge in bridges_with_rules() if bridge in left]


@pytest.mark.docker
@pytest.mark.usefixtures("own_network", "way")
@pytest.mark.skipif(not can_set_rules(), reason="takes root and iptables")
def test_the_rules_of_a_former_bridge_in_use_stay() -> None:
    """Its name is the same for all installations with the same settings, so that it may be another one's."""
    former = former_bridge_name()
    with interface(former), rules_of(bridge_name(), former):
        before = [line for line in rules().splitlines() if former in line.lower()]
        uninstall("--yes")
        left = rules().splitlines()
    assert [line for line in left if former in line.lower()] == before
    assert bridge_name() not in "".join(left).lower()


@pytest.mark.skipif(not can_set_rules(), reason="takes root and iptables")
def test_the_command_that_removes_rules_leaves_those_of_a_former_bridge_in_use_as_well() -> None:
    former, said = former_bridge_name(), StringIO()
    with rules_of(bridge_name(), gateway_bridge_name(), former):
        before = [line for line in rules().splitlines() if former in line.lower()]
        with interface(former):
            call_command("firewall", "--remove", stdout=said)
        left = rules().splitlines()
        assert [line for line in left if former in line.lower()] == before
        assert not [name for name in (bridge_name(), gateway_bridge_name()) if name in "".join(left).lower()]
        call_command("firewall", "--remove")
        assert former not in rules().lower()
    assert former in said.getvalue()


@pytest.mark.docker
@pytest.mark.usefixtures("own_network")
def test_uninstall_removes_the_rules_of_a_network_of_former_settings(docker_under_test: DockerUnderTest) -> None:
    bridge = f"berth-{uuid4().hex[:8]}"
    name = f"{docker_under_test.name}-former"
    docker_under_test.client.create_network(name, labels=own_labels(), options={f"{BRIDGE}.name": bridge})
    assert bridge in removal.find_belongings(Connection()).bridges
    uninstall("--yes")
    assert name not in names(docker_under_test.client)


@pytest.mark.docker
@pytest.mark.usefixtures("own_network", "docker_under_test")
def test_uninstall_says_how_to_find_rules_that_it_could_not_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "can_set_rules", lambda: False)
    monkeypatch.setattr(rules_container, "inspect_image", lambda *_: None)
    said = uninstall("--yes", "--data")
    assert "nobody looked for firewall rules" in said
    assert all(bridge.upper() in said for bridge in (bridge_name(), gateway_bridge_name()))
