"""What agents can reach."""

import shutil
import subprocess
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings

from containers.firewall import iptables
from containers.firewall.bridge import bridge_name
from containers.firewall.iptables import apply_rules, remove_rules, rules_for
from containers.firewall.resolvers import read_resolvers
from containers.firewall.rules import make_rules
from containers.firewall.script import as_script
from containers.programs import is_root
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.containers.firewall.fake_internet import NEAR_END, fake_internet, listener

ALLOW = [("10.1.2.3/32", 8080), ("10.9.0.0/16", None), ("fd00:1::/64", None)]
can_filter = pytest.mark.skipif(
    not (is_root() and shutil.which("iptables") and shutil.which("ip")), reason="takes root, iptables and ip"
)


def test_private_and_metadata_addresses_are_refused_in_both_families() -> None:
    four, six = (rules.as_restore() for rules in make_rules(bridge="berth-0", allow=[], resolvers=[]))
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"):
        assert f"-A BERTH-0-FORWARD -d {network} -j BERTH-0-REFUSE" in four
    for network in ("fc00::/7", "fe80::/10", "::ffff:0.0.0.0/96"):
        assert f"-A BERTH-0-FORWARD -d {network} -j BERTH-0-REFUSE" in six
    for rules in (four, six):
        assert rules.splitlines()[-2] == "-A BERTH-0-HOST -j BERTH-0-REFUSE"


def test_exceptions_come_after_other_agents_and_before_everything_else() -> None:
    four, six = make_rules(bridge="berth-0", allow=ALLOW, resolvers=["10.0.0.53"])
    assert four.chains["BERTH-0-FORWARD"][:7] == [
        "-o berth-0 -j BERTH-0-REFUSE",
        "-o berth-+ -j BERTH-0-REFUSE",
        "-j BERTH-0-LIMITS",
        "-p tcp -m conntrack --ctorigdst 10.1.2.3 --ctorigdstport 8080 -j ACCEPT",
        "-m conntrack --ctorigdst 10.9.0.0/16 -j ACCEPT",
        "-d 10.0.0.53/32 -p udp -m udp --dport 53 -j ACCEPT",
        "-d 10.0.0.53/32 -p tcp -m tcp --dport 53 -j ACCEPT",
    ]
    assert six.chains["BERTH-0-HOST"] == [
        "-j BERTH-0-LIMITS",
        "-m conntrack --ctorigdst fd00:1::/64 -j ACCEPT",
        "-j BERTH-0-REFUSE",
    ]


def test_the_name_servers_of_the_host_are_found(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text(
        "# made\nsearch x\nnameserver 10.0.0.2\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\nnameserver ?\n"
    )
    assert read_resolvers([str(file), str(file), str(tmp_path / "none")]) == ["10.0.0.2", "fe80::1"]


def test_the_bridge_has_a_name_that_a_rule_can_hold() -> None:
    assert bridge_name().startswith("berth-")
    assert len(bridge_name()) <= 15
    with override_settings(BERTH_INSTANCE="other"):
        other = bridge_name()
    assert other != bridge_name()


def test_the_command_prints_a_shell_script() -> None:
    printed = StringIO()
    with override_settings(BERTH_EGRESS_ALLOW=ALLOW):
        call_command("firewall", stdout=printed)
        assert printed.getvalue() == as_script(iptables.current_rules())
    subprocess.run(["sh", "-n"], input=printed.getvalue().encode(), check=True)
    assert "--ctorigdst 10.1.2.3 --ctorigdstport 8080" in printed.getvalue()


@pytest.mark.docker
def test_without_the_right_to_set_rules_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iptables, "is_root", lambda: False)
    said = apply_rules()
    assert said
    assert "manage.py firewall" in said
    monkeypatch.setattr("containers.docker.gateway.verbs.ensure_network", lambda line: True)
    monkeypatch.setattr("containers.docker.networks.rules_container.inspect_image", lambda *_: None)
    with (
        override_settings(BERTH_ENGINE_CLASS="containers.docker.engine.DockerEngine"),
        pytest.raises(CommandError, match="not root"),
    ):
        call_command("firewall", "--apply")


def test_no_rule_is_set_without_the_bridge_on_this_host() -> None:
    with override_settings(BERTH_INSTANCE=f"t-{uuid4().hex[:8]}"):
        said = apply_rules()
    assert said
    assert "Agents can reach this host" in said


def reaches(under_test: DockerUnderTest, address: str, name: str = "") -> bool:
    script = f"for n in 1 2 3 4 5; do nc -w 1 {address} 8181 </dev/null && exit 0; sleep 0.1; done; exit 1"
    return "hello" in under_test.run("sh", "-c", script, name=name)[1]


@pytest.mark.docker
@can_filter
def test_an_agent_reaches_the_internet_and_nothing_near(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    deploy(docker_under_test, key=f"{docker_under_test.key}-2", name=f"{docker_under_test.name}-2", mode="listening")
    client = docker_under_test.client
    network = client.inspect_network(settings.BERTH_CONTAINER_NETWORK)
    gateway = network["IPAM"]["Config"][0]["Gateway"]
    ends = client.inspect_container(f"{docker_under_test.name}-2")["NetworkSettings"]["Networks"]
    peer = ends[settings.BERTH_CONTAINER_NETWORK]["IPAddress"]
    with fake_internet() as public, listener():
        assert reaches(docker_under_test, "127.0.0.1", name=f"{docker_under_test.name}-2")
        assert reaches(docker_under_test, public)
        for near in (gateway, "172.17.0.1", "169.254.169.254", "10.0.0.1", peer, NEAR_END):
            assert not reaches(docker_under_test, near), near
        with override_settings(BERTH_EGRESS_ALLOW=[(f"{gateway}/32", 8181), ("172.16.0.0/12", 1)]):
            assert apply_rules() is None
            assert reaches(docker_under_test, gateway)
            assert not reaches(docker_under_test, peer)
        assert apply_rules() is None
        assert not reaches(docker_under_test, gateway)


@pytest.mark.docker
@can_filter
def test_rules_are_set_once_however_often_and_leave_nothing(docker_under_test: DockerUnderTest) -> None:
    deploy(docker_under_test)
    call_command("firewall", "--apply", stdout=StringIO())
    call_command("firewall", "--apply", stdout=StringIO())
    rules = subprocess.run(["iptables", "-S"], capture_output=True, check=True).stdout.decode()
    assert rules.count(f"-i {bridge_name()} -j {bridge_name().upper()}") == 2
    call_command("firewall", "--remove")
    remove_rules()
    for program in ("iptables", "ip6tables"):
        rules = subprocess.run([program, "-S"], capture_output=True, check=True).stdout.decode()
        assert bridge_name().upper() not in rules
    apply_rules()


def test_chosen_name_servers_are_reached_also_at_private_addresses() -> None:
    with override_settings(BERTH_DNS=["10.0.0.53", "9.9.9.9", "fd00::53"]):
        four, six = (rules.as_restore() for rules in rules_for("berth-0", resolvers=[]))
    assert "-d 10.0.0.53/32 -p udp -m udp --dport 53 -j ACCEPT" in four
    assert "-d fd00::53/128 -p tcp -m tcp --dport 53 -j ACCEPT" in six
