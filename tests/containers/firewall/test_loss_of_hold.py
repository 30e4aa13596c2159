"""Other firewalls and people disable our rules in every way; afterwards packets are refused again.

A router of three network namespaces has Docker's chains and ours. In each case the agent reaches a private address
first, which shows that the repair is what keeps it out.
"""

import pytest

from containers.firewall import iptables, jumps
from containers.firewall.rules import Hook, RuleSet, leads_to_rules
from tests.containers.firewall.losses import HARMLESS, LOSSES, PRIVATE
from tests.containers.firewall.place import Place, can_filter


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
