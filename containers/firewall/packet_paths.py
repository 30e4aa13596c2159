"""Follows the packets of a bridge from the kernel's hook through the chains, as far as their path is certain.

The existence of our rules proves nothing: another firewall may have removed the jump to them, or put an exception
before it. What counts is that no packet gets past them.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

_GO_ON = {
    "", "LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "SECMARK", "CONNSECMARK", "TRACE", "CLASSIFY", "DSCP", "TOS",
    "ECN", "TTL", "HL", "TCPMSS", "TCPOPTSTRIP", "CHECKSUM", "RATEEST", "SET", "AUDIT", "LED", "IDLETIMER", "CT",
    "NOTRACK",
}  # fmt: skip
"""Targets after which the next rule applies. After any other target that is no chain, a packet may be let through."""

_REFUSES = frozenset(("DROP", "REJECT"))
_DEEPEST = 32


class Way(Enum):
    """What a chain does with packets. REACHES: all of them reach our rules or are refused. OPEN: some may be let
    through without our rules. PASSES: none is let through, and they continue after the jump to the chain."""

    REACHES = "reaches"
    OPEN = "open"
    PASSES = "passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A rule: whether packets of the bridge may match it, whether all of them do, and its target."""

    may_match: bool
    matches_all: bool
    target: str
    is_goto: bool = False


Chains = Mapping[str, list[str]]


def parse_chains(listed: str) -> dict[str, list[str]]:
    """Returns the rules of each chain from the output of `iptables -S`."""
    chains: dict[str, list[str]] = {}
    for line in listed.splitlines():
        word, _, rest = line.strip().partition(" ")
        chain, _, rule = rest.partition(" ")
        if word in {"-P", "-N"}:
            chains.setdefault(chain, [])
        elif word == "-A":
            chains.setdefault(chain, []).append(rule)
    return chains


def comes_to(chains: Chains, target: str, *, hook: str, bridge: str) -> bool:
    """Returns whether every packet from the bridge at the hook reaches the chain `target` or is refused."""
    return target in chains and hook in chains and _follow(chains, hook, target, bridge, ()) is Way.REACHES


def _follow(chains: Chains, chain: str, target: str, bridge: str, above: tuple[str, ...]) -> Way:
    if chain in above or len(above) > _DEEPEST:
        return Way.OPEN
    may_have_left = False
    for rule in chains[chain]:
        step = read_step(rule, bridge)
        if not step.may_match or step.target in _GO_ON:
            continue
        if step.target == "RETURN":
            if step.matches_all:
                return Way.PASSES
            may_have_left = True
            continue
        way = _lead(chains, step, target, bridge, (*above, chain))
        if way is Way.OPEN:
            return way
        if way is Way.REACHES and step.matches_all:
            return Way.PASSES if may_have_left else way
    return Way.PASSES


def _lead(chains: Chains, step: Step, target: str, bridge: str, above: tuple[str, ...]) -> Way:
    """Returns what happens to the packets that match."""
    if step.target == target or step.target in _REFUSES:
        return Way.REACHES
    if step.target not in chains:
        return Way.OPEN
    way = _follow(chains, step.target, target, bridge, above)
    # After a `goto`, packets do not come back to the next rule.
    return Way.OPEN if step.is_goto and way is Way.PASSES else way


def read_step(rule: str, bridge: str) -> Step:
    words = _split(rule)
    may_match, matches_all, target, is_goto = True, True, "", False
    index = 0
    while index < len(words):
        negated = words[index] == "!" and index + 1 < len(words)
        index += negated
        word, value = words[index], words[index + 1] if index + 1 < len(words) else ""
        if word in {"-j", "-g"}:
            target, is_goto = value, word == "-g"
            break
        if word in {"-i", "--in-interface"}:
            fits = fnmatchcase(bridge, _as_pattern(value)) != negated
            may_match, matches_all = may_match and fits, matches_all and fits
            index += 2
        elif word == "-m" and value == "comment" and words[index + 2 : index + 3] == ["--comment"]:
            index += 4
        else:
            matches_all = False
            index += 1
    return Step(may_match=may_match, matches_all=matches_all, target=target, is_goto=is_goto)


def _split(rule: str) -> list[str]:
    try:
        return shlex.split(rule)
    except ValueError:
        return rule.split()


def _as_pattern(interface: str) -> str:
    """Returns a pattern for an interface such as `br-+`, which means every name with this prefix."""
    return f"{interface[:-1]}*" if interface.endswith("+") else interface


def without(chains: Chains, chain: str, rule: str) -> dict[str, list[str]]:
    """Returns the chains without this rule in this chain."""
    return {name: [each for each in rules if (name, each) != (chain, rule)] for name, rules in chains.items()}


def own_rules(chains: Chains, names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the rules of these chains as the kernel lists them."""
    return {name: chains.get(name, []) for name in names}
