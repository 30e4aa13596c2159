"""Installs the egress rules on this host, or says in one sentence why that is not possible."""

from collections.abc import Iterable
from contextlib import suppress

from django.conf import settings

from containers.firewall.bridge import bridges_to_guard, is_here
from containers.firewall.rules import CLOSED, RuleSet, make_rules, need_rules, read_resolvers
from containers.programs import ProgramError, find_program, is_root, run_program

_LIMIT = 20.0
_UNPROTECTED = "Agents can reach this host and private networks: "
_REMEDY = "Run the script that `manage.py firewall` prints as root on the host of the engine."


def current_rules() -> list[RuleSet]:
    return [rules for bridge in bridges_to_guard() for rules in rules_for(bridge)]


def rules_for(bridge: str, *, resolvers: Iterable[str] | None = None) -> list[RuleSet]:
    """`resolvers` are the name servers of the engine's host, where that is not this one."""
    found = read_resolvers() if resolvers is None else list(resolvers)
    return make_rules(
        bridge=bridge, allow=settings.BERTH_EGRESS_ALLOW, resolvers=[*found, *need_rules(settings.BERTH_DNS)]
    )


def apply_rules() -> str | None:
    """Installs the rules. Returns None, or a sentence that says why they could not be installed and what to do."""
    if reason := find_obstacle():
        return explain(reason)
    try:
        for rules in current_rules():
            _apply(rules)
    except ProgramError as error:
        return explain(str(error))
    return None


def explain(reason: str) -> str:
    """The sentences for the operator where rules could not be set for this reason."""
    return f"{_UNPROTECTED}{reason} {_REMEDY}"


def can_set_rules() -> bool:
    """Whether this process can set rules on its own machine."""
    return is_root() and all(find_program(name) for name in ("iptables-restore", "ip6tables-restore"))


def find_obstacle() -> str | None:
    """Why this process cannot install rules, or None."""
    if not is_root():
        return "Berth is not root and may not set firewall rules."
    if not can_set_rules():
        return "iptables is not installed here."
    if not is_on_this_host():
        return "the engine's network is not on this host."
    return None


def is_on_this_host() -> bool:
    return any(is_here(bridge) for bridge in bridges_to_guard())


def remove_rules(*bridges: str) -> None:
    """Removes all rules for these bridges, or else all of ours, from this host. Missing ones are no error.

    A bridge that was closed at boot is closed again.
    """
    for rules in [rules for bridge in bridges or bridges_to_guard() for rules in rules_for(bridge)]:
        _unhook(rules.program, CLOSED, rules.opening, "-t", "raw")
        for parents, rule in rules.hooks:
            for parent in parents:
                _unhook(rules.program, parent, rule)
        for command in ("-F", "-X"):
            for chain in reversed(rules.chains):
                with suppress(ProgramError):
                    _run(rules.program, command, chain)


def _apply(rules: RuleSet) -> None:
    run_program(f"{rules.program}-restore", "-w", "--noflush", seconds=_LIMIT, given=rules.as_restore())
    for parents, rule in rules.hooks:
        parent = next((each for each in parents if _succeeds(rules.program, "-n", "-L", each)), parents[-1])
        if not _succeeds(rules.program, "-C", parent, *rule.split()):
            _run(rules.program, "-I", parent, "1", *rule.split())
    raw, opening = ("-t", "raw"), rules.opening.split()
    if _succeeds(rules.program, *raw, "-n", "-L", CLOSED) and not _succeeds(
        rules.program, *raw, "-C", CLOSED, *opening
    ):
        _run(rules.program, *raw, "-I", CLOSED, "1", *opening)


def _unhook(program: str, parent: str, rule: str, *table: str) -> None:
    """Removes the rule, which may be there several times: processes that start together each insert it."""
    for _ in range(20):
        if not _succeeds(program, *table, "-D", parent, *rule.split()):
            return


def _succeeds(program: str, *arguments: str) -> bool:
    try:
        _run(program, *arguments)
    except ProgramError:
        return False
    return True


def _run(program: str, *arguments: str) -> None:
    run_program(program, "-w", *arguments, seconds=_LIMIT)
