"""Converts the rules to a shell script, for a host on which this process may not set them."""

from collections.abc import Iterable

from containers.firewall.bridge_netfilter import show_by_script
from containers.firewall.led_chains import LEADS
from containers.firewall.neighbour_table import room_by_script
from containers.firewall.rules import CLOSED, PROGRAMS, Hook, RuleSet

_SET = """\
# set_rules PROGRAM: writes the chains of $wanted that differ. Rules that are written again have counted nothing.
set_rules() {
    chains=$(echo "$wanted" | sed -n 's/^-N //p')
    listed=$(for chain in $chains; do $1 -w -S "$chain" 2>/dev/null || :; done)
    [ "$listed" != "$wanted" ] || return 0
    for chain in $chains; do
        own=$(echo "$wanted" | grep -e "^-N $chain$" -e "^-A $chain ")
        [ "$($1 -w -S "$chain" 2>/dev/null || :)" != "$own" ] ||
            wanted=$(echo "$wanted" | grep -v -e "^-N $chain$" -e "^-A $chain " || :)
    done
    {
        echo "*filter"
        echo "$wanted" | sed 's/^-N \\(.*\\)/:\\1 - [0:0]/'
        echo COMMIT
    } | $1-restore -w --noflush
}
"""


def as_script(rules: Iterable[RuleSet]) -> str:
    """Returns a shell script that installs the rules. Run it as root on the engine's host, again after every change."""
    rules = list(rules)
    lines = ["#!/bin/sh", "set -eu", *room_by_script(), LEADS.rstrip(), _SET.rstrip()]
    for act in (_set_by_script, lambda family: show_by_script(family.bridge, family.program), _open_by_script):
        for family in rules:
            lines += if_supported(family.program, act(family))
    return "\n".join(lines) + "\n"


def if_supported(program: str, lines: list[str]) -> list[str]:
    """Returns the lines for a kernel that supports the program's address family. Without IPv6, ip6tables may fail."""
    return lines if program == PROGRAMS[4] else ["if [ -e /proc/net/if_inet6 ]; then", *lines, "fi"]


def _set_by_script(family: RuleSet) -> list[str]:
    lines = ["wanted=$(cat <<'RULES'", family.as_listed, "RULES", ")", f"set_rules {family.program}"]
    return lines + [line for hook in family.hooks for line in _lead_by_script(family.program, hook)]


def _open_by_script(family: RuleSet) -> list[str]:
    raw = f"{family.program} -w -t raw"
    is_there = f"{raw} -C {CLOSED} {family.opening} 2>/dev/null"
    return [f"! {raw} -n -L {CLOSED} >/dev/null 2>&1 || {is_there} || {raw} -I {CLOSED} 1 {family.opening}"]


def as_removal(rules: Iterable[RuleSet]) -> str:
    """Returns a shell script that removes our rules. Missing rules are no error, and rules that are not ours stay."""
    lines = []
    for family in rules:
        command = f"{family.program} -w"
        hooked = [f"{parent} {hook.rule}" for hook in family.hooks for parent in hook.parents]
        lines += [_delete_all(f"{command} -t raw -D {CLOSED} {family.opening}")]
        lines += [_delete_all(f"{command} -D {rule}") for rule in hooked]
        chains = list(reversed(family.chains))
        lines += [f"{command} {act} {chain} 2>/dev/null || true" for act in ("-F", "-X") for chain in chains]
    return "\n".join(lines) + "\n"


def _delete_all(command: str) -> str:
    """Returns a command that deletes a rule, which may exist several times: each of several processes may insert it."""
    return f"for n in 1 2 3 4 5 6 7 8 9; do {command} 2>/dev/null || break; done"


def _lead_by_script(program: str, hook: Hook) -> list[str]:
    """Returns lines that put one jump to our chain first, in Docker's chain for users if packets reach that first.

    Rules of other interfaces may stand before it. Otherwise networks would change places each time, and with
    `iptables-legacy` every change of the table makes all rules forget what they have counted. Another process may
    change the jumps meanwhile, so there are four attempts.
    """
    command = f"{program} -w"
    *preferred, last = hook.parents
    lines = [f"program={program} bridge={hook.bridge} parent={last}"]
    lines += [f'! leads {last} "-j {parent}" || parent={parent}' for parent in preferred]
    lines += [
        "for attempt in 1 2 3 4; do",
        f'    count=$({command} -S "$parent" | grep -cxF -e "-A $parent {hook.rule}" || :)',
        f'    if [ "$count" = 1 ] && leads "$parent" "{hook.rule}"; then break; fi',
        "    if {",
        '        echo "*filter"',
        f'        for n in 1 2 3 4 5 6 7 8 9; do [ $n -gt "$count" ] || echo "-D $parent {hook.rule}"; done',
        f'        echo "-I $parent 1 {hook.rule}"',
        "        echo COMMIT",
        f"    }} | {program}-restore -w --noflush; then break; fi",
        "    [ $attempt -lt 4 ]",
        "done",
    ]
    lines += [f'[ "$parent" = {last} ] || {_delete_all(f"{command} -D {last} {hook.rule}")}'] * bool(preferred)
    return lines
