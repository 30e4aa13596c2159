"""Other firewalls and people disable our rules in every way; afterwards packets are refused again.

A router of three network namespaces has Docker's chains and ours. In each case the agent reaches a private address
first, which shows that the repair is what keeps it out.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from containers.firewall import iptables, jumps
from containers.firewall.rules import Hook, RuleSet, leads_to_rules
from containers.programs import is_root
from tests.containers.firewall.losses import CLEAN, DOCKER, HARMLESS, KNOCK, LOSSES, PRIVATE, PRIVATE_6
from tests.containers.firewall.router import Router, make_router, work_on

can_filter = pytest.mark.skipif(
    not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
)


class Place:
    """The router as the host of an engine, on which this process sets rules."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def begin(self) -> None:
        self.run(f"{CLEAN}{DOCKER.format(bridge=self.router.bridge)}")
        assert iptables.apply_rules() is None
        assert iptables.rules_hold()

    def lose(self, script: str) -> None:
        for rules in self.router.rules():
            parent = "DOCKER-USER" if rules.program == "iptables" else "FORWARD"
            words = {
                "bridge": self.router.bridge,
                "chains": " ".join(rules.chains),
                "forwarded": rules.hooks[0].chain,
                "refused": next(iter(rules.chains)),
                "network": "10.0.0.0/8" if rules.program == "iptables" else "fc00::/7",
                "parent": parent,
                "rule": rules.hooks[0].rule,
                "host": f"INPUT {rules.hooks[1].rule}",
            }
            text = script
            for word, value in words.items():
                text = text.replace(f"{{{word}}}", value)
            self.run(f"program={rules.program}\n{text}")

    def run(self, script: str) -> None:
        done = subprocess.run(
            self.router.on("router", "sh", "-c", script), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (script, done.stderr)

    def reached(self) -> set[str]:
        command = self.router.on("agent", sys.executable, "-ISc", KNOCK, PRIVATE, PRIVATE_6)
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return set(done.stdout.split())


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with make_router() as made:
        yield made


@pytest.fixture
def place(router: Router, monkeypatch: pytest.MonkeyPatch) -> Place:
    """`iptables` of this process changes the router."""
    work_on(router, monkeypatch)
    made = Place(router)
    made.begin()
    return made


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", LOSSES)
def test_every_loss_of_the_rules_effect_is_detected_and_repaired(place: Place, way: str) -> None:
    place.lose(LOSSES[way])
    assert PRIVATE in place.reached()
    assert not iptables.rules_hold()
    assert iptables.apply_rules() is None
    assert iptables.rules_hold()
    assert place.reached() == set()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", LOSSES)
def test_the_operator_s_script_repairs_it_too(place: Place, way: str) -> None:
    place.lose(LOSSES[way])
    place.router.set_rules()
    [rules, _] = place.router.rules()
    assert leads_to_rules(jumps.list_chains("iptables"), rules)
    assert PRIVATE not in place.reached()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("by", ["Berth", "the script"])
def test_of_several_jumps_to_our_rules_one_is_left(place: Place, by: str) -> None:
    """Processes that start together each insert one. The limits would count each packet as often as there are jumps."""
    place.lose("for n in 1 2; do $program -w -I {parent} 1 {rule}; done; $program -w -A {parent} {rule}")
    place.lose("for n in 1 2; do $program -w -I {host}; done")
    assert not iptables.rules_hold()
    if by == "Berth":
        assert iptables.apply_rules() is None
    else:
        place.router.set_rules()
    assert iptables.rules_hold()
    for rules in place.router.rules():
        chains = jumps.list_chains(rules.program)
        assert [sum(listed.count(hook.rule) for listed in chains.values()) for hook in rules.hooks] == [1, 1]
    assert place.reached() == set()


@pytest.mark.docker
@can_filter
def test_two_processes_that_lead_to_the_rules_at_once_do_not_fail(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.lose("for n in 1 2; do $program -w -I {parent} 1 {rule}; done")
    alone, repeated = jumps.restore, set[str]()

    def restore(program: str, given: str) -> None:
        if "-D " in given and program not in repeated:
            repeated.add(program)
            alone(program, given)  # by the other process
        alone(program, given)

    monkeypatch.setattr(jumps, "restore", restore)
    assert iptables.apply_rules() is None
    assert repeated
    assert iptables.rules_hold()


@pytest.mark.docker
@can_filter
@pytest.mark.parametrize("way", HARMLESS)
def test_harmless_rules_are_left_alone(place: Place, way: str) -> None:
    place.lose(HARMLESS[way])
    assert iptables.rules_hold()
    assert "drop" in way or place.reached() == set()


@pytest.mark.docker
@can_filter
def test_after_docker_returns_packets_are_counted_once(place: Place) -> None:
    """After a flush our jump comes first; after Docker's next start it need not."""
    place.lose(LOSSES["FORWARD is flushed"])
    assert iptables.apply_rules() is None
    place.run("iptables -w -I FORWARD 1 -j DOCKER-USER")
    assert iptables.apply_rules() is None
    [rules, _] = place.router.rules()
    chains = jumps.list_chains("iptables")
    assert chains["FORWARD"].count(rules.hooks[0].rule) == 0
    assert chains["DOCKER-USER"].count(rules.hooks[0].rule) == 1
    assert iptables.rules_hold()


@pytest.mark.docker
@can_filter
def test_a_network_created_meanwhile_is_no_obstacle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker moves the jump to its chain for others to the front again."""
    real, meanwhile = jumps._lead, ["-D FORWARD -j DOCKER-USER", "-I FORWARD 1 -j DOCKER-USER"]

    def lead(rules: RuleSet, hook: Hook) -> None:
        real(rules, hook)
        if rules.program == "iptables" and hook is rules.hooks[0] and meanwhile:
            place.run(f"iptables -w {meanwhile.pop(0)}")

    monkeypatch.setattr(jumps, "_lead", lead)
    assert iptables.apply_rules() is None
    assert meanwhile == []
    assert iptables.rules_hold()
    assert place.reached() == set()
