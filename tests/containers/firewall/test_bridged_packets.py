"""Packets from one agent to another never leave their bridge.
The kernel applies rules to them only if it is told to."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

from containers.firewall import bridge_netfilter, iptables, jumps
from containers.firewall.bridge_netfilter import show_by_script
from containers.firewall.rules import make_rules
from containers.firewall.script import as_script
from containers.programs import ProgramError, is_root, run_program
from tests.child_servers import child_server
from tests.containers.firewall import inside_router
from tests.containers.firewall.router import run

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter", "unshare")))),
        reason="takes root, iptables, ip, nsenter and unshare",
    ),
]
AGENT, PEER, PORT = "11.99.0.2", "11.99.0.3", 8199
SWITCHES = "/proc/sys/net/bridge/bridge-nf-call-"


class Host:
    """Two agents on a bridge, each in a separate network namespace, and the host in a third."""

    def __init__(self, stack: ExitStack) -> None:
        self.name = f"t{uuid4().hex[:6]}"
        self.bridge = f"berth-{uuid4().hex[:8]}"
        for place in ("host", "agent", "peer"):
            run(f"ip netns add {self.name}{place}")
            stack.callback(run, f"ip netns del {self.name}{place}")
            run(f"ip -n {self.name}{place} link set lo up")
        run(f"ip -n {self.name}host link add {self.bridge} type bridge")
        run(f"ip -n {self.name}host addr add 11.99.0.1/22 dev {self.bridge}")
        for place, address in (("agent", AGENT), ("peer", PEER)):
            there = f"{self.name}{place}"
            run(f"ip -n {self.name}host link add {place} type veth peer name eth0 netns {there}")
            run(f"ip -n {self.name}host link set {place} master {self.bridge} up")
            run(f"ip -n {there} addr add {address}/22 dev eth0")
            run(f"ip -n {there} link set eth0 up")
        run(f"ip -n {self.name}host link set {self.bridge} up")

    def sh(self, script: str, place: str = "host") -> str:
        """Runs a script in the namespace, whose own interfaces are in its /sys."""
        words = ["nsenter", f"--net=/run/netns/{self.name}{place}", "unshare", "--mount", "sh", "-c"]
        mounted = f"mount -t sysfs none /sys; {script}"
        return subprocess.run([*words, mounted], capture_output=True, text=True, check=True, timeout=60).stdout

    def hide(self) -> None:
        """Hides bridged packets from iptables, like a host of virtual machines."""
        self.sh(f"for each in {SWITCHES}iptables {SWITCHES}ip6tables; do echo 0 >$each; done")

    def reaches(self) -> bool:
        knock = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 4).close()"
        command = ["nsenter", f"--net=/run/netns/{self.name}agent", sys.executable, "-ISc", knock, PEER, str(PORT)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def two_agents() -> Iterator[Host]:
    with ExitStack() as stack:
        made = Host(stack)
        door = [sys.executable, "-m", inside_router.__name__, "answer", f'{{"port": {PORT}}}']
        run(f"ip -n {made.name}peer addr add 9.9.9.9/32 dev lo")
        run(f"ip -n {made.name}peer addr add 2620:fe::9/128 dev lo nodad")
        stack.enter_context(child_server(["nsenter", f"--net=/run/netns/{made.name}peer", *door]))
        yield made


@pytest.fixture
def host(two_agents: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """This process sets its rules on this host."""
    real = run_program

    def there(name: str, *arguments: str, seconds: float, given: str | None = None) -> str:
        return real(
            "nsenter", f"--net=/run/netns/{two_agents.name}host", name, *arguments, seconds=seconds, given=given
        )

    for module in (bridge_netfilter, iptables, jumps):
        monkeypatch.setattr(module, "run_program", there)
    monkeypatch.setattr(bridge_netfilter, "is_here", lambda _name: True)
    monkeypatch.setattr(
        bridge_netfilter, "_read", lambda switch: two_agents.sh(f"cat {switch} 2>/dev/null || :").strip()
    )
    monkeypatch.setattr(bridge_netfilter, "_write", lambda switch, value: two_agents.sh(f"echo {value} >{switch}"))
    monkeypatch.setattr(iptables, "bridges_to_guard", lambda: [two_agents.bridge])
    monkeypatch.setattr(iptables, "is_on_this_host", lambda: True)
    monkeypatch.setattr(iptables, "read_resolvers", list)
    two_agents.sh("iptables -w -F; iptables -w -X; ip6tables -w -F; ip6tables -w -X")
    two_agents.sh(f"ip link set {two_agents.bridge} type bridge nf_call_iptables 0 nf_call_ip6tables 0")
    two_agents.sh(f"for each in {SWITCHES}iptables {SWITCHES}ip6tables; do echo 1 >$each; done")
    return two_agents


def without_ip(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str, *_arguments: str, seconds: float) -> str:
        raise ProgramError(str(seconds))

    monkeypatch.setattr(bridge_netfilter, "run_program", fail)


@pytest.mark.parametrize("has_ip", [True, False])
def test_a_setting_that_hides_packets_between_agents_is_detected_and_repaired(
    host: Host, monkeypatch: pytest.MonkeyPatch, has_ip: bool
) -> None:
    if not has_ip:
        without_ip(monkeypatch)
    assert host.reaches()
    assert iptables.apply_rules() is None
    assert not host.reaches()
    host.sh(f"ip link set {host.bridge} type bridge nf_call_iptables 0 nf_call_ip6tables 0")
    host.hide()
    assert host.reaches()
    assert not iptables.rules_hold()
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert not host.reaches()


def test_with_the_bridge_s_own_setting_the_global_one_opens_nothing(host: Host) -> None:
    assert iptables.apply_rules() is None
    host.hide()
    assert not host.reaches()
    assert iptables.rules_hold()


@pytest.mark.parametrize("program", ["iptables", "ip6tables"])
def test_each_address_family_has_a_separate_setting(host: Host, program: str) -> None:
    assert iptables.apply_rules() is None
    host.sh(f"ip link set {host.bridge} type bridge nf_call_{program} 0; echo 0 >{SWITCHES}{program}")
    assert not iptables.rules_hold()


def test_if_the_setting_cannot_be_repaired_the_rules_do_not_count(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_switch: str, _value: str) -> None:
        raise PermissionError

    without_ip(monkeypatch)
    monkeypatch.setattr(bridge_netfilter, "_write", refuse)
    host.hide()
    said = iptables.apply_rules()
    assert said
    assert "net.bridge.bridge-nf-call-iptables is 0" in said


def test_the_operator_s_script_repairs_the_setting_too(host: Host) -> None:
    host.hide()
    script = as_script(make_rules(bridge=host.bridge, allow=[], resolvers=[]))
    host.sh(script)
    assert not host.reaches()
    host.sh(f"ip link set {host.bridge} type bridge nf_call_iptables 0; ip() {{ false; }}; {script}")
    assert not host.reaches()
    assert host.sh(f"cat {SWITCHES}iptables") == "1\n"


def test_the_script_reports_a_setting_that_it_cannot_repair(host: Host) -> None:
    host.hide()
    [of_all] = {line.split(">")[1].split(";")[0] for line in show_by_script("x", "iptables") if "echo 1" in line}
    script = "\n".join(show_by_script(host.bridge, "iptables")).replace(f">{of_all};", ">/sys/nothing;")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        host.sh(f"ip() {{ false; }}; {script}")
    assert "net.bridge.bridge-nf-call-iptables is 0" in caught.value.stderr


def test_a_bridge_that_is_not_here_yet_hides_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_netfilter, "is_here", lambda _name: False)
    host.hide()
    assert bridge_netfilter.shows_packets(host.bridge, "iptables")
    bridge_netfilter.show_packets(host.bridge, "iptables")
