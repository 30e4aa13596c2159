"""What agents may reach: the internet, but neither this host nor private networks. Pure, for iptables and ip6tables.

Each address family gets three chains of our own: one for packets that Docker forwards from the agents' bridge, one for
packets from it to the host itself, and one that refuses what the other two reject. The operator lists exceptions in
`BERTH_EGRESS_ALLOW`; without one, even a Bot API server or a model gateway with a private address stays out of reach.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

Exceptions = Iterable[tuple[str, int | None]]

# This network, private, shared (CGNAT), loopback, link-local (cloud metadata lives there), protocol assignments
# (another cloud's metadata), multicast and reserved.
PRIVATE_NETWORKS = {
    4: (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.168.0.0/16", "224.0.0.0/3",
    ),
    6: ("::/127", "::ffff:0:0/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8"),
}  # fmt: skip
PROGRAMS = {4: "iptables", 6: "ip6tables"}
_RESOLVER_FILES = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one address family.

    `hooks` are the rules that lead into our chains, each with the built-in chains for it in order of preference.
    """

    program: str
    chains: dict[str, list[str]]
    hooks: list[tuple[tuple[str, ...], str]]

    def as_restore(self) -> str:
        """The input of `iptables-restore --noflush`, which replaces our chains at once and leaves all others alone."""
        declared = [f":{chain} - [0:0]" for chain in self.chains]
        rules = [f"-A {chain} {rule}" for chain, rules in self.chains.items() for rule in rules]
        return "\n".join(["*filter", *declared, *rules, "COMMIT", ""])


def make_rules(*, bridge: str, allow: Exceptions, resolvers: Iterable[str]) -> list[RuleSet]:
    allow, resolvers = list(allow), list(resolvers)
    return [_family(version, bridge, allow, resolvers) for version in (4, 6)]


def read_resolvers(files: Iterable[str] = _RESOLVER_FILES) -> list[str]:
    """The host's name servers, which Docker's resolver in a container asks from that container's own address."""
    found: list[str] = []
    for file in files:
        path = Path(file)
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        words = [line.split() for line in lines]
        found += [word[1].partition("%")[0] for word in words if len(word) > 1 and word[0] == "nameserver"]
    return [address for address in dict.fromkeys(found) if _needs_rule(address)]


def as_script(rules: Iterable[RuleSet]) -> str:
    """A shell script that installs the rules, to be run as root on the engine's host, again after every change."""
    lines = ["#!/bin/sh", "set -eu"]
    for family in rules:
        lines += [f"{family.program}-restore -w --noflush <<'RULES'", family.as_restore().rstrip(), "RULES"]
        command = f"{family.program} -w"
        for parents, rule in family.hooks:
            tests = [f"{command} -n -L {parent} >/dev/null 2>&1 && parent={parent}" for parent in parents[:-1]]
            lines.append(f"parent={parents[-1]}; " + "; ".join(f"{test} || true" for test in tests))
            lines.append(f'{command} -C "$parent" {rule} 2>/dev/null || {command} -I "$parent" 1 {rule}')
    return "\n".join(line.removesuffix("; ") for line in lines) + "\n"


def _family(version: int, bridge: str, allow: list[tuple[str, int | None]], resolvers: list[str]) -> RuleSet:
    forwarded, to_host, refused = (f"{bridge.upper()}-{end}" for end in ("FORWARD", "HOST", "REFUSE"))
    # Matched is the address that the agent asked for, not the one to which Docker redirects a published port.
    allowed = [
        f"-p tcp -m conntrack --ctorigdst {cidr} --ctorigdstport {port} -j ACCEPT"
        if port
        else f"-m conntrack --ctorigdst {cidr} -j ACCEPT"
        for cidr, port in allow
        if ip_network(cidr).version == version
    ]
    names = [
        f"-d {address} -p {protocol} --dport 53 -j ACCEPT"
        for address in resolvers
        if ip_address(address).version == version
        for protocol in ("udp", "tcp")
    ]
    return RuleSet(
        program=PROGRAMS[version],
        chains={
            # A reset ends a TCP attempt at once. Other protocols get the default message of the address family.
            refused: ["-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT"],
            forwarded: [
                f"-o {bridge} -j {refused}",  # other agents, even if an exception covers their address
                *allowed,
                *names,
                *(f"-d {network} -j {refused}" for network in PRIVATE_NETWORKS[version]),
            ],
            to_host: [*allowed, *names, f"-j {refused}"],
        },
        hooks=[
            (("DOCKER-USER", "FORWARD"), f"-i {bridge} -j {forwarded}"),
            (("INPUT",), f"-i {bridge} -j {to_host}"),
        ],
    )


def _needs_rule(address: str) -> bool:
    """Docker asks name servers on loopback addresses from the host's side, where none of our rules applies."""
    try:
        return not ip_address(address).is_loopback
    except ValueError:
        return False
