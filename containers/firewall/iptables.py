"""Installs the egress rules on this host, or says in one sentence why that is not possible."""

from contextlib import suppress

from django.conf import settings

from containers.firewall.bridge import bridges_to_guard, is_here
from containers.firewall.rules import RuleSet, make_rules, read_resolvers
from containers.programs import ProgramError, find_program, is_root, run_program

_LIMIT = 20.0
_UNPROTECTED = "Agents can reach this host and private networks: "
_REMEDY = "Run the script that `manage.py firewall` prints as root on the host of the engine."


def current_rules() -> list[RuleSet]:
    return [rules for bridge in bridges_to_guard() for rules in rules_for(bridge)]


def rules_for(bridge: str) -> list[RuleSet]:
    return make_rules(bridge=bridge, allow=settings.BERTH_EGRESS_ALLOW, resolvers=read_resolvers())


def apply_rules() -> str | None:
    """Installs the rules. Returns None, or a sentence that says why they could not be installed and what to do."""
    if reason := _obstacle():
        return f"{_UNPROTECTED}{reason} {_REMEDY}"
    try:
        for rules in current_rules():
            _apply(rules)
    except ProgramError as error:
        return f"{_UNPROTECTED}{error} {_REMEDY}"
    return None


def remove_rules(*bridges: str) -> None:
    """Removes all rules for these bridges, or else all of ours, from this host. Missing ones are no error."""
    for rules in [rules for bridge in bridges or bridges_to_guard() for rules in rules_for(bridge)]:
        for parents, rule in rules.hooks:
            for parent in parents:
                _unhook(rules.program, parent, rule)
        for command in ("-F", "-X"):
            for chain in reversed(rules.chains):
                with suppress(ProgramError):
                    _run(rules.program, command, chain)


def _obstacle() -> str | None:
    """Why this process cannot install rules, or None."""
    if not is_root():
        return "Berth is not root and may not set firewall rules."
    if any(find_program(name) is None for name in ("iptables-restore", "ip6tables-restore")):
        return "iptables is not installed here."
    if not any(is_here(bridge) for bridge in bridges_to_guard()):
        return "the engine's network is not on this host."
    return None


def _apply(rules: RuleSet) -> None:
    run_program(f"{rules.program}-restore", "-w", "--noflush", seconds=_LIMIT, given=rules.as_restore())
    for parents, rule in rules.hooks:
        parent = next((each for each in parents if _succeeds(rules.program, "-n", "-L", each)), parents[-1])
        if not _succeeds(rules.program, "-C", parent, *rule.split()):
            _run(rules.program, "-I", parent, "1", *rule.split())


def _unhook(program: str, parent: str, rule: str) -> None:
    """Removes the rule, which may be there several times: processes that start together each insert it."""
    for _ in range(20):
        if not _succeeds(program, "-D", parent, *rule.split()):
            return


def _succeeds(program: str, *arguments: str) -> bool:
    try:
        _run(program, *arguments)
    except ProgramError:
        return False
    return True


def _run(program: str, *arguments: str) -> None:
    run_program(program, "-w", *arguments, seconds=_LIMIT)
