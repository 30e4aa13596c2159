"""Builds the iptables and ip6tables rules: agents may reach the internet, but neither this host nor private networks.

Each address family gets four chains of our own: one for packets that Docker forwards from the agents' bridge, one for
packets from it to the host itself, one that limits their number, and one that refuses packets for the others. The
operator lists exceptions in `BERTH_EGRESS_ALLOW`; without one, even a Bot API server or a model gateway with a private
address stays out of reach.

Each rule is written as `iptables -S` shows it, so that a comparison finds out whether it is set. A rule that is set
again would forget what it has counted.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from containers.firewall.blocked_networks import PRIVATE_NETWORKS, PUBLIC_NETWORKS
from containers.firewall.connection_limits import limit_rules
from containers.firewall.gateway_openings import Door, Passage
from containers.firewall.listed_form import as_listed, without_full_length
from containers.firewall.packet_paths import comes_to

Exceptions = Iterable[tuple[str, int | None]]

PROGRAMS = {4: "iptables", 6: "ip6tables"}
BRIDGE_PREFIX = "berth-"
"""The prefix of every agents' bridge of any installation, so that one rule can close them all."""

CLOSED = "BERTH-CLOSED"
"""The chain of the table `raw` that a host may have from boot on (`containers.firewall.boot`). It drops everything from
an agents' bridge, except for bridges whose rules have been set since."""

_REFUSAL = {4: "icmp-port-unreachable", 6: "icmp6-port-unreachable"}

_GATEWAY_CONTROL = "5350:5351"
"""The ports on which agents could ask the nearest router to forward ports to this machine (NAT-PMP, PCP)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A jump to one of our chains, and the chains that may have it in order of preference, the kernel's own last."""

    bridge: str
    parents: tuple[str, ...]
    chain: str

    @property
    def rule(self) -> str:
        """The rule as `iptables -S` shows it, without the parent chain."""
        return f"-i {self.bridge} -j {self.chain}"

    def is_led(self, chains: Mapping[str, list[str]]) -> bool:
        """Returns whether all packets from the bridge reach the chain."""
        return comes_to(chains, self.chain, hook=self.parents[-1], bridge=self.bridge)

    def is_right(self, chains: Mapping[str, list[str]]) -> bool:
        """Returns whether they also come to it once: a jump that is there twice makes the limits count them twice."""
        return self.is_led(chains) and all(chains.get(parent, []).count(self.rule) < 2 for parent in self.parents)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one address family for one bridge.

    `opening` is the rule of the chain `CLOSED` that lets the bridge's packets on to our chains.
    """

    program: str
    bridge: str
    chains: dict[str, list[str]]
    hooks: list[Hook]
    opening: str

    @property
    def key(self) -> tuple[str, str]:
        return self.program, self.bridge

    def find_right(
        self, chains: Mapping[str, list[str]], former: "RuleSet", listed: Mapping[str, list[str]]
    ) -> set[str]:
        """Returns our chains that need not be set again, of all that the kernel lists.

        `listed` is what it listed when the rules `former` had been set: it may write them in a form of its own.
        """
        right = {name for name, wanted in self.chains.items() if chains.get(name) == wanted}
        same = {name for name, wanted in self.chains.items() if former.chains.get(name) == wanted}
        return right | {name for name in same & set(chains) if chains[name] == listed.get(name)}

    def as_restore(self, *, leaving: Collection[str] = ()) -> str:
        """Returns input for `iptables-restore --noflush`, which replaces our chains at once and leaves others alone.

        `leaving` are chains of ours that are left alone, too, because they are as they should be.
        """
        chains = {chain: rules for chain, rules in self.chains.items() if chain not in leaving}
        declared = [f":{chain} - [0:0]" for chain in chains]
        rules = [f"-A {chain} {rule}" for chain, rules in chains.items() for rule in rules]
        return "\n".join(["*filter", *declared, *rules, "COMMIT", ""])

    @property
    def as_listed(self) -> str:
        """The output of `iptables -S` with each of our chains if they are set."""
        listed = [[f"-N {chain}", *(f"-A {chain} {rule}" for rule in rules)] for chain, rules in self.chains.items()]
        return "\n".join(line for lines in listed for line in lines)


def make_rules(
    *,
    bridge: str,
    allow: Exceptions,
    resolvers: Iterable[str],
    passage: Passage | None = None,
    door: Door | None = None,
) -> list[RuleSet]:
    allow, resolvers = [*(passage.exceptions if passage else []), *allow], list(resolvers)
    four, six = _family(4, bridge, allow, resolvers, passage), _family(6, bridge, allow, resolvers, None)
    if door:
        to_host = next(chain for chain in four.chains if chain.endswith("-HOST"))
        after_limits = next(at for at, rule in enumerate(four.chains[to_host]) if rule.endswith("-LIMITS")) + 1
        four.chains[to_host].insert(after_limits, door.opens)
    return [four, six]


def first_of_all(parent: str, rule: str, *, instead_of: int = 0) -> str:
    """Returns input for `iptables-restore --noflush` that puts this rule first, instead of so many copies of it."""
    return "\n".join(["*filter", *[f"-D {parent} {rule}"] * instead_of, f"-I {parent} 1 {rule}", "COMMIT", ""])


def leads_to_rules(chains: Mapping[str, list[str]], rules: RuleSet) -> bool:
    """Returns whether all packets of the bridge reach our chains, by one jump each, and none of these is empty."""
    return all(map(chains.get, rules.chains)) and all(hook.is_right(chains) for hook in rules.hooks)


def _family(version: int, bridge: str, allow: Exceptions, resolvers: Iterable[str], passage: Passage | None) -> RuleSet:
    names_of_chains = ("FORWARD", "HOST", "LIMITS", "REFUSE")
    forwarded, to_host, limits, refused = (f"{bridge.upper()}-{end}" for end in names_of_chains)
    allowed = [*_accept_exceptions(version, allow), *_accept_name_servers(version, resolvers)]
    if passage:
        # An agent that may reach only the gateway gets nothing else through, no matter what others may reach.
        allowed.insert(0, f"-s {passage.alone} -j {refused}")
    return RuleSet(
        program=PROGRAMS[version],
        bridge=bridge,
        chains={
            # A reset ends a TCP attempt at once. Other protocols get the default message of the address family.
            refused: ["-p tcp -j REJECT --reject-with tcp-reset", f"-j REJECT --reject-with {_REFUSAL[version]}"],
            limits: limit_rules(version, bridge, refused),
            forwarded: [
                *([f"-o {bridge} -j {limits}", *passage.opens(bridge)] if passage else []),
                # Other agents, even if an exception covers their address: on this bridge and on any other.
                *(f"-o {interface} -j {refused}" for interface in (bridge, f"{BRIDGE_PREFIX}+")),
                f"-j {limits}",
                *allowed,
                *_refuse_networks(version, refused),
            ],
            to_host: [*([passage.answers] if passage else []), f"-j {limits}", *allowed, f"-j {refused}"],
        },
        hooks=[
            Hook(bridge=bridge, parents=("DOCKER-USER", "FORWARD"), chain=forwarded),
            Hook(bridge=bridge, parents=("INPUT",), chain=to_host),
        ],
        opening=f"-i {bridge} -j RETURN",
    )


def _refuse_networks(version: int, refused: str) -> list[str]:
    return [
        f"-p udp -m udp --dport {_GATEWAY_CONTROL} -j {refused}",
        *(f"-d {as_listed(network)} -j RETURN" for network in PUBLIC_NETWORKS[version]),
        *(f"-d {as_listed(network)} -j {refused}" for network in PRIVATE_NETWORKS[version]),
    ]


def _accept_exceptions(version: int, allow: Exceptions) -> list[str]:
    """Returns rules that match the address that the agent asked for, not the target of a published port of Docker."""
    return [
        f"-p tcp -m conntrack --ctorigdst {without_full_length(cidr)} --ctorigdstport {port} -j ACCEPT"
        if port
        else f"-m conntrack --ctorigdst {without_full_length(cidr)} -j ACCEPT"
        for cidr, port in allow
        if ip_network(cidr).version == version
    ]


def _accept_name_servers(version: int, resolvers: Iterable[str]) -> list[str]:
    return [
        f"-d {as_listed(address)} -p {protocol} -m {protocol} --dport 53 -j ACCEPT"
        for address in resolvers
        if ip_address(address).version == version
        for protocol in ("udp", "tcp")
    ]
