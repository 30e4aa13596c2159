"""Leads the kernel's chains to Berth's: lists the rules there are, and puts its jumps before what could let packets
past."""

import time

from containers.firewall.packet_paths import parse_chains, without
from containers.firewall.rules import Hook, RuleSet, first_of_all, leads_to_rules
from containers.programs import ProgramError, run_program

LIMIT = 20.0
"""Seconds for each program."""

_PAUSES = (0.0, 0.05, 0.2, 0.5)
"""Seconds to wait before each attempt."""


def lead_all(rules: RuleSet) -> dict[str, list[str]]:
    """Leads all hooks to our chains.

    Tries again, because others may change the rules meanwhile: an engine that creates a network briefly removes its own
    jumps, and a second process of Berth that starts removes the jumps that this one is about to replace.
    """
    error = ProgramError("other rules let packets past those of Berth, and it cannot put its own before them.")
    for pause in _PAUSES:
        time.sleep(pause)
        try:
            for hook in rules.hooks:
                _lead(rules, hook)
            if leads_to_rules(chains := list_chains(rules.program), rules):
                return chains
        except ProgramError as last:
            error = last
    raise error


def _lead(rules: RuleSet, hook: Hook) -> None:
    """Ensures that all packets pass from the hook to our chain, with a single jump as early as necessary.

    Docker puts the jump to `DOCKER-USER` first again when it starts, so that ours is best placed there. If nothing
    leads there any longer, our jump becomes the first rule of the kernel's own chain.
    """
    chains = list_chains(rules.program)
    for parent in hook.parents:
        if parent in chains and not hook.is_right(chains):
            count = chains[parent].count(hook.rule)
            restore(rules.program, first_of_all(parent, hook.rule, instead_of=count))
            chains = list_chains(rules.program)
    if hook.is_led(fewer := without(chains, hook.parents[-1], hook.rule)) and fewer != chains:
        # Packets that pass through the limits twice would count twice.
        unhook(rules.program, hook.parents[-1], hook.rule)


def list_chains(program: str) -> dict[str, list[str]]:
    return parse_chains(run_program(program, "-w", "-S", seconds=LIMIT))


def restore(program: str, given: str) -> None:
    run_program(f"{program}-restore", "-w", "--noflush", seconds=LIMIT, given=given)


def unhook(program: str, parent: str, rule: str, *table: str) -> None:
    """Removes the rule, which may exist several times, because processes that start together each insert it."""
    for _ in range(20):
        try:
            run(program, *table, "-D", parent, *rule.split())
        except ProgramError:
            return


def run(program: str, *arguments: str) -> None:
    run_program(program, "-w", *arguments, seconds=LIMIT)
