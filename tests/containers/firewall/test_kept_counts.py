"""Rules that are confirmed, as Berth does all the time, do not forget how many connections an agent holds."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containers.firewall import iptables
from containers.firewall.connection_limits import CONNECTIONS
from containers.firewall.gateway_openings import Door, Passage
from containers.firewall.packet_paths import parse_chains
from containers.firewall.rules import PROGRAMS, RuleSet, leads_to_rules, make_rules
from containers.firewall.script import as_script
from containers.programs import is_root
from tests.child_servers import child_server
from tests.containers.firewall.losses import DOCKER
from tests.containers.firewall.router import PORT, Router, make_router, work_on
from tests.containers.firewall.test_node_script import run as run_on_node
from tests.containers.firewall.test_node_script import write_script

can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)
ADDRESSES = ["11.1.2.3", "2a01:5::5"]
EVERYTHING = make_rules(
    bridge="berth-0",
    allow=[("10.1.0.0/16", 443), ("8.8.8.8/32", None), ("fd00::5/128", None), ("2001:db8::/32", 8443)],
    resolvers=["10.0.0.53", "fd00::53"],
    passage=Passage(gateway="10.99.0.2", port=8080, alone="10.99.4.0/22", published="10.99.0.1"),
    door=Door(address="10.9.0.1", port=8080),
)


def confirm_by_script(router: Router) -> None:
    router.set_rules()


def confirm_here(_: Router) -> None:
    assert iptables.apply_rules() is None


def confirm_in_another_process(_: Router) -> None:
    iptables._set_here.clear()
    assert iptables.apply_rules() is None


def change_by_script(router: Router) -> None:
    router.set_rules(resolvers=["9.9.9.9", "2620:fe::9"])


def repair_here(router: Router) -> None:
    """Another chain has lost its rules."""
    for program in PROGRAMS.values():
        command = router.on("router", program, "-w", "-F", f"{router.bridge.upper()}-FORWARD")
        subprocess.run(command, check=True)
    assert not iptables.rules_hold()
    confirm_here(router)


WAYS = {each.__name__: each for each in (confirm_by_script, confirm_here, confirm_in_another_process, change_by_script)}


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    """A router on which this process sets rules, with separate limits for each test."""
    monkeypatch.setattr(iptables, "_set_here", {})
    with make_router() as made:
        work_on(made, monkeypatch)
        yield made


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("way", [*WAYS.values(), repair_here], ids=lambda way: way.__name__)
def test_an_agent_that_holds_all_its_connections_gets_no_more(
    router: Router, way: Callable[[Router], None], address: str
) -> None:
    assert iptables.apply_rules() is None
    router.as_agent("knock", addresses=[address], port=PORT)  # until it has an answer, the kernel keeps few packets
    with child_server(router.as_agent_command("keep", address=address, port=PORT, count=CONNECTIONS)):
        for _ in range(2):
            way(router)
            assert iptables.rules_hold() or "script" in way.__name__
            assert router.as_agent("hold", address=address, port=PORT, count=3) == 0


@can_filter
def test_a_node_confirms_its_rules_without_writing_them(router: Router, tmp_path: Path) -> None:
    script = write_script(tmp_path, router)
    run_on_node(router, script, "close")
    run_on_node(router, script, "rules")
    for program in PROGRAMS.values():
        broken = tmp_path / f"{program}-restore"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
    run_on_node(router, script, "rules")


@can_filter
@pytest.mark.parametrize("docker", ["", DOCKER])
@pytest.mark.parametrize("scripts", [1, 2], ids=["of one installation", "of two"])
def test_the_rules_of_several_networks_are_confirmed_without_writing_them(
    router: Router, tmp_path: Path, scripts: int, docker: str
) -> None:
    """With `iptables-legacy`, each change of the table would make all of them forget what they have counted."""
    subprocess.run(router.on("router", "sh", "-ec", docker.format(bridge=router.bridge)), check=True)
    others = make_rules(bridge="berth-ffffffff", allow=[], resolvers=[])
    groups = [[*router.rules(), *others]] if scripts == 1 else [router.rules(), others]
    for rules in groups:
        subprocess.run(router.on("router", "sh", "-c", as_script(rules)), check=True)
    for program in PROGRAMS.values():
        listed = subprocess.run(router.on("router", program, "-S"), capture_output=True, text=True, check=True).stdout
        families = [family for rules in groups for family in rules if family.program == program]
        assert all(leads_to_rules(parse_chains(listed), family) for family in families)
        broken = tmp_path / f"{program}-restore"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for rules in groups:
        subprocess.run(router.on("router", "sh", "-c", as_script(rules)), env=environment, check=True)


@can_filter
def test_rules_that_are_set_are_not_written_again(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    assert iptables.apply_rules() is None
    iptables._set_here.clear()
    written: list[str] = []
    monkeypatch.setattr(iptables, "restore", lambda program, _: written.append(program))
    assert iptables.apply_rules() is None
    assert written == []
    assert iptables.rules_hold()


@can_filter
@pytest.mark.parametrize("rules", EVERYTHING, ids=PROGRAMS.values())
@pytest.mark.parametrize("kind", ["nft", "legacy"])
def test_every_rule_is_written_as_the_kernel_lists_it(router: Router, rules: RuleSet, kind: str) -> None:
    program = f"{rules.program}-{kind}"
    if not shutil.which(program):
        pytest.skip("This machine lacks this kind of iptables.")
    restore = router.on("router", f"{program}-restore", "-w", "--noflush")
    subprocess.run(restore, input=rules.as_restore().encode(), check=True)
    listed = subprocess.run(router.on("router", program, "-w", "-S"), capture_output=True, text=True, check=True)
    chains = parse_chains(listed.stdout)
    assert {name: chains[name] for name in rules.chains} == rules.chains
    assert rules.find_right(chains, rules, {}) == set(rules.chains)
