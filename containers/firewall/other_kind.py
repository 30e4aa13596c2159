"""Removes our rules from the kernel's other set.

There are two kinds of `iptables`, nft and legacy, with a set of rules each, and packets pass both sets. If a machine
gets the other kind, for example by `update-alternatives`, nothing changes the rules in the former set any longer: what
is allowed later stays refused, and packets are counted twice.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from containers.firewall.packet_paths import parse_chains
from containers.firewall.rules import PROGRAMS, RuleSet
from containers.programs import ProgramError, find_program

Run = Callable[..., str]
"""`containers.programs.run_program`, or what takes its place."""

_LIMIT = 20.0
_LEGACY_TABLES = {PROGRAMS[4]: "/proc/net/ip_tables_names", PROGRAMS[6]: "/proc/net/ip6_tables_names"}


def clear_other_set(rules: RuleSet, run: Run) -> None:
    """Removes these rules from the set that the machine's `iptables` does not show, without a moment between them.

    The chain that closes bridges at boot is left alone there, because it lets our packets on.
    """
    with suppress(ProgramError):  # without the other kind, nothing is in its set
        other = _other_kind(rules.program, run)
        chains = parse_chains(run(other, "-w", "-S", seconds=_LIMIT)) if other else {}
        if found := [chain for chain in rules.chains if chain in chains]:
            jumps = [(parent, hook.rule) for hook in rules.hooks for parent in hook.parents]
            lines = [f"-D {parent} {rule}" for parent, rule in jumps for _ in range(chains.get(parent, []).count(rule))]
            lines += [f"{act} {chain}" for act in ("-F", "-X") for chain in reversed(found)]
            given = "\n".join(["*filter", *lines, "COMMIT", ""])
            run(f"{other}-restore", "-w", "--noflush", seconds=_LIMIT, given=given)


def _other_kind(program: str, run: Run) -> str:
    """Returns the program of the other kind, or "" if nothing can be in its set. Raises `ProgramError`."""
    shown = run(program, "-V", seconds=_LIMIT)
    if "nf_tables" in shown and _has_legacy_tables(program):
        return f"{program}-legacy" if find_program(f"{program}-legacy") else ""
    return f"{program}-nft" if "legacy" in shown and find_program(f"{program}-nft") else ""


def _has_legacy_tables(program: str) -> bool:
    """Returns whether there are any. The program itself would create them, and load the kernel's modules for them."""
    try:
        return "filter" in Path(_LEGACY_TABLES[program]).read_text().split()
    except OSError:
        return False
