"""The way to the gateway in the rules of the agents' network. With real packets: `tests/gateway/engine`."""

from dataclasses import replace

from containers.firewall.bridge import bridges_to_guard, gateway_bridge_name
from containers.firewall.gateway_openings import Passage, note_passage
from containers.firewall.rules import make_rules

PASSAGE = Passage(gateway="172.30.0.2", port=8080, alone="172.30.64.0/18")
TO_IT = "-d 172.30.0.2/32 -o berth-0 -p tcp -m tcp --dport 8080 -j ACCEPT"
BACK = (
    "-s 172.30.0.2/32 -o berth-0 -p tcp -m tcp --sport 8080 -m conntrack --ctstate ESTABLISHED --ctdir REPLY -j ACCEPT"
)  # fmt: skip


def test_agents_reach_the_gateway_and_it_reaches_no_agent() -> None:
    four, six = make_rules(bridge="berth-0", allow=[("10.1.2.3/32", 1)], resolvers=["10.0.0.53"], passage=PASSAGE)
    assert four.chains["BERTH-0-FORWARD"][:7] == [
        "-o berth-0 -j BERTH-0-LIMITS",
        TO_IT,
        BACK,
        "-o berth-0 -j BERTH-0-REFUSE",
        "-o berth-+ -j BERTH-0-REFUSE",
        "-j BERTH-0-LIMITS",
        "-s 172.30.64.0/18 -j BERTH-0-REFUSE",
    ]
    # No matter what others may reach on the host itself.
    assert four.chains["BERTH-0-HOST"][:3] == [
        BACK.replace("-o berth-0 ", ""),
        "-j BERTH-0-LIMITS",
        "-s 172.30.64.0/18 -j BERTH-0-REFUSE",
    ]
    assert not any("172.30" in rule for rules in six.chains.values() for rule in rules)


def test_agents_reach_a_gateway_that_is_published_on_the_host_and_nothing_else_there() -> None:
    published = replace(PASSAGE, published="172.30.0.1")
    plain, _ = make_rules(bridge="berth-0", allow=[], resolvers=[], passage=PASSAGE)
    opened, _ = make_rules(bridge="berth-0", allow=[], resolvers=[], passage=published)
    opening = "-p tcp -m conntrack --ctorigdst 172.30.0.1 --ctorigdstport 8080 -j ACCEPT"
    for chain in ("BERTH-0-FORWARD", "BERTH-0-HOST"):
        after = plain.chains[chain].index("-s 172.30.64.0/18 -j BERTH-0-REFUSE") + 1
        assert opened.chains[chain] == [*plain.chains[chain][:after], opening, *plain.chains[chain][after:]]


def test_without_a_gateway_only_its_own_rules_are_missing() -> None:
    plain, _ = make_rules(bridge="berth-0", allow=[], resolvers=[])
    opened, _ = make_rules(bridge="berth-0", allow=[], resolvers=[], passage=PASSAGE)
    for chain, rules in plain.chains.items():
        added = {
            TO_IT,
            BACK,
            BACK.replace("-o berth-0 ", ""),
            "-o berth-0 -j BERTH-0-LIMITS",
            "-s 172.30.64.0/18 -j BERTH-0-REFUSE",
        }
        assert [rule for rule in opened.chains[chain] if rule not in added] == rules


def test_the_gateway_s_bridge_is_guarded_once_its_address_is_known() -> None:
    """Rules without that would cut agents off."""
    bridge = gateway_bridge_name()
    assert bridge not in bridges_to_guard()
    note_passage(bridge, PASSAGE)
    try:
        assert bridges_to_guard()[-1] == bridge
    finally:
        note_passage(bridge, None)
    assert bridge not in bridges_to_guard()
