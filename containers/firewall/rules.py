"""What agents may reach: the internet, and nothing that is near. Pure rules, for iptables and ip6tables.

Each family gets chains of our own. One stands before all that Docker forwards from the agents' bridge, one before what
the host itself takes from it; both send to the third what they refuse. Exceptions are for the operator to list: a
Bot API server or a model gateway with a private address is as closed as all else until `BERTH_EGRESS_ALLOW` holds it.
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
    """The rules of one family. `hooks` are (built-in chains in order of preference, rule)."""

    program: str
    chains: dict[str, list[str]]
    hooks: list[tuple[tuple[str, ...], str]]

    def as_restore(self) -> str:
        """Input of `iptables-restore --noflush`, which replaces our chains at one stroke and leaves all others."""
        declared = [f":{chain} - [0:0]" for chain in self.chains]
        rules = [f"-A {chain} {rule}" for chain, rules in self.chains.items() for rule in rules]
        return "\n".join(["*filter", *declared, *rules, "COMMIT", ""])


def make_rules(*, bridge: str, allow: Exceptions, resolvers: Iterable[str]) -> list[RuleSet]:
    allow, resolvers = list(allow), list(resolvers)
    return [_family(version, bridge, allow, resolvers) for version in (4, 6)]


def read_resolvers(files: Iterable[str] = _RESOLVER_FILES) -> list[str]:
    """The host's name servers: Docker's resolver inside a container asks them from the container's own address."""
    found: list[str] = []
    for file in files:
        path = Path(file)
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        words = [line.split() for line in lines]
        found += [word[1].partition("%")[0] for word in words if len(word) > 1 and word[0] == "nameserver"]
    return [address for address in dict.fromkeys(found) if _is_askable(address)]


def as_script(rules: Iterable[RuleSet]) -> str:
    """A shell script that sets the rules, to be run as root on the host of the engine; again whenever they change."""
    lines = ["#!/bin/sh", "set -eu"]
    for one in rules:
        lines += [f"{one.program}-restore -w --noflush <<'RULES'", one.as_restore().rstrip(), "RULES"]
        for parents, rule in one.hooks:
            choose = [f"{one.program} -w -n -L {parent} >/dev/null 2>&1 && parent={parent}" for parent in parents[:-1]]
            lines.append(f"parent={parents[-1]}; " + "; ".join(f"{each} || true" for each in choose))
            lines.append(f'{one.program} -w -C "$parent" {rule} 2>/dev/null || {one.program} -w -I "$parent" 1 {rule}')
    return "\n".join(line.removesuffix("; ") for line in lines) + "\n"


def _family(version: int, bridge: str, allow: list[tuple[str, int | None]], resolvers: list[str]) -> RuleSet:
    forwarded, to_host, refused = (f"{bridge.upper()}-{end}" for end in ("FORWARD", "HOST", "REFUSE"))
    # The address that the agent asked for counts, not the one that a published port of Docker made of it.
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
            # A reset ends the attempt at once; for the rest the family's default message.
            refused: ["-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT"],
            forwarded: [
                f"-o {bridge} -j {refused}",  # other agents, whatever is allowed
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


def _is_askable(address: str) -> bool:
    """Loopback ones are asked from the host's side, where no rule of ours stands."""
    try:
        return not ip_address(address).is_loopback
    except ValueError:
        return False
