"""Installs the egress rules on this host, or returns a sentence that says why that is not possible."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from containers.firewall.bridge import bridges_to_guard, bridges_with_rules, gateway_bridge_name, is_here
from containers.firewall.bridge_netfilter import show_packets, shows_packets
from containers.firewall.gateway_openings import passage_of
from containers.firewall.jumps import LIMIT, lead_all, list_chains, restore, run, unhook
from containers.firewall.neighbour_table import make_room
from containers.firewall.other_kind import clear_other_set
from containers.firewall.packet_paths import own_rules, parse_chains
from containers.firewall.resolvers import need_rules, read_resolvers
from containers.firewall.rules import CLOSED, PROGRAMS, RuleSet, leads_to_rules, make_rules
from containers.programs import ProgramError, find_program, is_root, run_program

_IPV6 = Path("/proc/net/if_inet6")
_set_here: dict[tuple[str, str], tuple[RuleSet, dict[str, list[str]]]] = {}
"""The rules that this process has set, by program and bridge, and the form in which the kernel lists them."""

_UNPROTECTED = "Agents can reach this host and private networks: "
_REMEDY = "Run the script that `manage.py firewall` prints as root on the host of the engine."


def current_rules() -> list[RuleSet]:
    return [rules for bridge in bridges_to_guard() for rules in rules_for(bridge)]


def rules_for(bridge: str, *, resolvers: Iterable[str] | None = None) -> list[RuleSet]:
    """Returns the rules for a bridge. `resolvers` are the name servers of the engine's host if that is not this one."""
    found = read_resolvers() if resolvers is None else list(resolvers)
    return make_rules(
        bridge=bridge,
        allow=settings.BERTH_EGRESS_ALLOW,
        resolvers=[*found, *need_rules(settings.BERTH_DNS)],
        passage=passage_of(bridge),
    )


def apply_rules() -> str | None:
    """Installs the rules, so that all packets pass through them. Returns None, or why that failed and what to do."""
    if reason := find_obstacle():
        return explain(reason)
    make_room()
    try:
        for rules in current_rules():
            if _exists_here(rules):
                _apply(rules)
    except ProgramError as error:
        return explain(str(error))
    return None


def rules_hold() -> bool:
    """Returns whether all packets of the agents' bridges pass through our rules, unchanged since this process set them.

    Packets between two agents pass through them only if the kernel applies rules to bridged packets.
    """
    try:
        return is_on_this_host() and all(_holds(rules) for rules in current_rules() if _exists_here(rules))
    except ProgramError:
        return False


def _exists_here(rules: RuleSet) -> bool:
    """Returns whether this kernel supports the rules' address family."""
    return rules.program == PROGRAMS[4] or _IPV6.exists()


def _holds(rules: RuleSet) -> bool:
    if not shows_packets(rules.bridge, rules.program):
        return False
    chains = list_chains(rules.program)
    return _set_here.get(rules.key) == (rules, own_rules(chains, rules.chains)) and leads_to_rules(chains, rules)


def explain(reason: str) -> str:
    """Returns the sentences for the operator if rules could not be set for this reason."""
    return f"{_UNPROTECTED}{reason} {_REMEDY}"


def can_set_rules() -> bool:
    """Returns whether this process can set rules on its own machine."""
    return is_root() and all(find_program(name) for name in ("iptables-restore", "ip6tables-restore"))


def find_obstacle() -> str | None:
    """Returns why this process cannot install rules, or None."""
    if not is_root():
        return "Berth is not root and may not set firewall rules."
    if not can_set_rules():
        return "iptables is not installed here."
    if not is_on_this_host():
        return "the engine's network is not on this host."
    return None


def is_on_this_host() -> bool:
    bridges, gateway = bridges_to_guard(), gateway_bridge_name()
    is_missing = gateway in bridges and not is_here(gateway)
    return not is_missing and any(is_here(bridge) for bridge in bridges if bridge != gateway)


def remove_rules(*bridges: str) -> None:
    """Removes all rules for these bridges, or by default all of ours, from this host. Missing rules are no error.

    A bridge that is closed at boot is closed again. Those of a former bridge that this host has stay, because it may be
    another installation's.
    """
    for rules in [rules for bridge in bridges or bridges_with_rules() for rules in rules_for(bridge)]:
        unhook(rules.program, CLOSED, rules.opening, "-t", "raw")
        for hook in rules.hooks:
            for parent in hook.parents:
                unhook(rules.program, parent, hook.rule)
        for command in ("-F", "-X"):
            for chain in reversed(rules.chains):
                with suppress(ProgramError):
                    run(rules.program, command, chain)
        clear_other_set(rules, run_program)


def _apply(rules: RuleSet) -> None:
    """Sets the rules. Chains that are as they should be are left alone, because new rules have counted nothing yet."""
    right = rules.find_right(list_chains(rules.program), *_set_here.get(rules.key, (rules, {})))
    is_known = rules.key in _set_here and len(right) == len(rules.chains)
    if len(right) < len(rules.chains):
        restore(rules.program, rules.as_restore(leaving=right))
    _set_here[rules.key] = rules, own_rules(lead_all(rules), rules.chains)
    show_packets(rules.bridge, rules.program)
    if not is_known:
        clear_other_set(rules, run_program)
    if not _is_open(rules):
        run(rules.program, "-t", "raw", "-I", CLOSED, "1", *rules.opening.split())


def are_open() -> bool:
    """Returns whether the chain that closes the agents' bridges at boot, if any, lets packets on to our rules."""
    try:
        return all(_is_open(rules) for rules in current_rules() if _exists_here(rules))
    except ProgramError:
        return False


def _is_open(rules: RuleSet) -> bool:
    closed = parse_chains(run_program(rules.program, "-w", "-t", "raw", "-S", seconds=LIMIT)).get(CLOSED)
    return closed is None or rules.opening in closed
