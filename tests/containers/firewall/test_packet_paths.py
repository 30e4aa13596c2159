"""Packets are followed through other programs' rules as far as their way is certain."""

import pytest

from containers.firewall.packet_paths import comes_to, parse_chains, read_step

BRIDGE, TARGET = "berth-1", "OURS"


WAYS: dict[str, tuple[str, bool]] = {
    "the jump alone": ("-i berth-1 -j OURS", True),
    "the jump for all": ("-j OURS", True),
    "the jump for some": ("-i berth-1 -s 10.0.0.0/8 -j OURS", False),
    "the jump for others": ("-i berth-2 -j OURS", False),
    "the jump for all but others": ("! -i berth-2 -j OURS", True),
    "the jump for all but these": ("! -i berth-1 -j OURS", False),
    "a wildcard": ("-i berth-+ -j OURS", True),
    "any interface": ("-i + -j OURS", True),
    "a comment": ('-m comment --comment "x -j ACCEPT" -j OURS', True),
    "nothing": ("", False),
    "all is dropped": ("-j DROP", True),
    "all is accepted": ("-j ACCEPT\n-j OURS", False),
    "others are accepted": ("-i eth0 -j ACCEPT\n-i berth-1 -j OURS", True),
    "some are accepted": ("-p tcp -j ACCEPT\n-i berth-1 -j OURS", False),
    "some are dropped": ("-p tcp -j DROP\n-i berth-1 -j OURS", True),
    "some are queued": ("-p tcp -j NFQUEUE --queue-num 1\n-i berth-1 -j OURS", False),
    "some go nobody knows where": ("-p tcp -j ELSEWHERE\n-i berth-1 -j OURS", False),
    "all are logged": ('-j LOG --log-prefix "x"\n-i berth-1 -j OURS', True),
    "some return": ("-p tcp -j RETURN\n-i berth-1 -j OURS", False),
    "all return": ("-j RETURN\n-i berth-1 -j OURS", False),
    "counted only": ("-p tcp\n-i berth-1 -j OURS", True),
    "through a chain": ("-j HARMLESS\n-j LEADS", True),
    "through a chain for some": ("-p tcp -j LEADS", False),
    "past a chain that accepts": ("-j OPENS\n-i berth-1 -j OURS", False),
    "past a chain that accepts others": ("-i eth0 -j OPENS\n-i berth-1 -j OURS", True),
    "gone to a chain that leads": ("-g LEADS", True),
    "gone to a chain that does not": ("-g HARMLESS\n-j OURS", False),
    "round and round": ("-j ROUND\n-j OURS", False),
    "a quote that does not end": ('-m comment --comment "x -j ACCEPT\n-i berth-1 -j OURS', False),
}


@pytest.mark.parametrize("way", WAYS)
def test_packets_are_followed_as_far_as_their_path_is_certain(way: str) -> None:
    text, comes = WAYS[way]
    lines = [
        "-P FORWARD ACCEPT",
        *(f"-N {chain}" for chain in (TARGET, "HARMLESS", "LEADS", "OPENS", "ROUND")),
        *(f"-A FORWARD {rule}" for rule in text.splitlines()),
        "-A HARMLESS -p udp -j LOG",
        "-A HARMLESS -p udp -j RETURN",
        "-A LEADS -i berth-1 -j OURS",
        "-A OPENS -p udp -j ACCEPT",
        "-A ROUND -j ROUND",
    ]
    assert comes_to(parse_chains("\n".join(lines)), TARGET, hook="FORWARD", bridge=BRIDGE) == comes


NO_RULES = ["", "!", "-j", "-i", "! -i", "-m comment --comment", "-A", '"', "\\", "-j -j", "\0"]


@pytest.mark.parametrize("rule", NO_RULES)
def test_malformed_rules_are_harmless(rule: str) -> None:
    read_step(rule, BRIDGE)
    comes_to(parse_chains(f"-P FORWARD ACCEPT\n-N OURS\n-A FORWARD {rule}"), TARGET, hook="FORWARD", bridge=BRIDGE)
