"""On a real engine: the rules return after every loss, and a container tests whether packets are refused."""

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.docker.gateway import egress
from containers.docker.networks import probe
from containers.docker.networks.rules_container import LABEL
from containers.errors import FirewallMissingError
from containers.firewall import bridge, iptables, jumps
from containers.firewall.bridge import bridge_name
from containers.programs import is_root, run_program
from tests.containers.firewall.iptables_image import make_iptables_image
from tests.containers.firewall.machine import METADATA, PUBLIC, Machine, make_machine

FLUSH = """\
iptables -w -F
iptables -w -P FORWARD ACCEPT
iptables -w -t nat -A POSTROUTING -s 172.16.0.0/12 -j MASQUERADE
"""
SWITCH = "/proc/sys/net/bridge/bridge-nf-call-iptables"
REFUSED = "ConnectionRefusedError: [Errno 111] Connection refused"
ANSWERS: dict[str, tuple[str, bool | None]] = {
    "all refused": ("192.0.2.1 nc: can't connect to remote host (192.0.2.1): Connection refused\n", True),
    "one refused, the others late": (f"192.0.2.1 timed out\n10.255.255.254 {REFUSED}", True),
    "bash refused": ("192.0.2.1 bash: connect: Connection refused", True),
    "one let in": ("192.0.2.1 connected\n10.255.255.254 Connection refused\n", False),
    "all late": ("192.0.2.1 TimeoutError: timed out\n10.255.255.254 nc: timed out\n", False),
    "nowhere to go": ("192.0.2.1 OSError: [Errno 113] No route to host\n", False),
    "unreachable": ("192.0.2.1 OSError: [Errno 101] Network is unreachable\n", False),
    "no way to knock": ("192.0.2.1 sh: nc: not found\n", None),
    "nothing said": ("", None),
    "something else": ("Connection refused\nconnected\n8.8.8.8 connected\n", None),
}  # fmt: skip


@pytest.mark.parametrize("said", ANSWERS)
def test_the_answers_to_knocks_prove_that_the_rules_hold_or_do_not(said: str) -> None:
    printed, holds = ANSWERS[said]
    assert probe.read_answers(printed) == holds


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    if not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter", "dockerd")))):
        pytest.skip("takes root, iptables, ip and dockerd")
    with make_machine() as made, override_settings(BERTH_BOOT_FIREWALL="off", BERTH_FIREWALL="required"):
        make_iptables_image(made.client)
        run(made, "ip route add default via 11.77.0.2")
        yield made


@pytest.fixture
def engine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> DockerEngine:
    """The engine of a process on another machine: rules are set through it."""
    monkeypatch.setenv("DOCKER_HOST", machine.engine.url)
    monkeypatch.setattr(egress, "THROUGH_ENGINE_EVERY", 0.0)
    monkeypatch.setattr(probe, "_has_route", lambda _address: True)
    run(machine, "iptables -w -t nat -F POSTROUTING")
    return DockerEngine()


@pytest.fixture
def local(machine: Machine, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch) -> DockerEngine:
    """The engine of a process that is root on the engine's host."""

    def run_there(name: str, *arguments: str, seconds: float, given: str | None = None) -> str:
        return run_program(*machine.engine.command(name, *arguments), seconds=seconds, given=given)

    def is_here(name: str) -> bool:
        found = subprocess.run(machine.engine.command("ip", "link", "show", name), capture_output=True, check=False)
        return found.returncode == 0

    for module in (iptables, jumps, bridge):
        monkeypatch.setattr(module, "run_program", run_there)
    for module in (iptables, bridge):
        monkeypatch.setattr(module, "is_here", is_here)
    return engine


def run(machine: Machine, script: str) -> None:
    subprocess.run(machine.engine.command("sh", "-ec", script), check=True, capture_output=True)


pytestmark = [pytest.mark.timeout(600), pytest.mark.one_database]


@pytest.mark.docker
def test_rules_that_are_set_through_the_engine_are_followed_there(machine: Machine, engine: DockerEngine) -> None:
    machine.deploy(engine)
    assert engine.probe_firewall() is None
    assert METADATA not in machine.reached()
    run(machine, FLUSH)
    assert METADATA in machine.reached()
    said = engine.probe_firewall()
    assert said
    assert "were not refused" in said
    run(machine, f"echo 0 >{SWITCH}")
    assert engine.ensure_firewall() is None
    run(machine, f"ip -details link show {bridge_name()} | grep 'nf_call_iptables 1'; echo 1 >{SWITCH}")
    assert machine.reached() == {PUBLIC}
    assert engine.probe_firewall() is None
    assert machine.client.containers(all=True, filters={"label": f"{LABEL}={settings.BERTH_INSTANCE}"}) == []


@pytest.mark.docker
@pytest.mark.parametrize("is_up", [True, False])
def test_a_renamed_bridge_gets_its_name_back(
    machine: Machine, local: DockerEngine, is_up: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The rules use the name. With another name packets bypass them."""
    assert local.ensure_firewall() is None
    machine.deploy(local)
    assert METADATA not in machine.reached()
    name = bridge_name()
    run(machine, f"ip link set {name} down; ip link set {name} name other; " + "ip link set other up" * is_up)
    if is_up:
        run(machine, "iptables -w -I FORWARD 1 -i other -j ACCEPT; iptables -w -I FORWARD 1 -o other -j ACCEPT")
        assert METADATA in machine.reached()
    assert local.ensure_firewall() is None
    assert "renamed the agents' bridge to other" in caplog.text
    run(machine, f"ip link set {name} up")
    assert METADATA not in machine.reached()
    assert local.probe_firewall() is None


@pytest.mark.docker
def test_a_deploy_sees_that_the_rules_do_not_hold_any_more(
    machine: Machine, local: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has set them does not rely on that, and starts no agent if they cannot be set."""
    machine.deploy(local)
    local.stop(machine.key, timeout=1)
    run(machine, FLUSH)
    monkeypatch.setattr(egress, "apply_rules", lambda: "They cannot be set.")
    with pytest.raises(FirewallMissingError):
        machine.deploy(local)
    assert not machine.is_running()
    monkeypatch.undo()
    monkeypatch.setenv("DOCKER_HOST", machine.engine.url)
    assert local.requires_firewall()


def test_without_a_route_no_probe_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_has_route", lambda _address: False)
    monkeypatch.setattr(probe, "inspect_image", lambda _connection, _image: {"Id": "1"})
    monkeypatch.setattr(probe, "run_helper", lambda *_arguments, **_options: pytest.fail("It knocked."))
    nobody: Any = None
    assert probe.probe(nobody) is None
    monkeypatch.setattr(probe, "_has_route", lambda _address: True)
    monkeypatch.setattr(probe, "inspect_image", lambda _connection, _image: None)
    assert probe.probe(nobody) is None


@pytest.mark.parametrize(
    "alias", ["", "\\    alias berth-ours2", "\\    alias xberth-ours", "\\    alias berth-theirs"]
)
@pytest.mark.parametrize("name", ["berth-0123abcd", "br-0123456789ab", "docker7", "lan"])
def test_a_foreign_bridge_is_not_renamed(monkeypatch: pytest.MonkeyPatch, name: str, alias: str) -> None:
    called: list[tuple[str, ...]] = []

    def program(*command: str, seconds: float) -> str:
        called.append(command)
        return f"7: {name}: <BROADCAST,UP> mtu 1500 state UP \\    link/ether 02:42:00:00:00:01{alias}\n"

    monkeypatch.setattr(bridge, "run_program", program)
    assert bridge.restore_bridge_name("berth-ours") == ""
    assert len(called) == 1
