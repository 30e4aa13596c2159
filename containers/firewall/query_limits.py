"""Limits how often an agent may ask the engine's own name server, with rules in the agent's network namespace.

Docker's resolver has an address in each agent's namespace and answers in the engine's own process. Questions about
names of the agents' own network never leave that namespace, so no rule of the host applies to them. No process in it
may change rules (`containers.hardening`), and Docker has no rules in this table.

The rules of Docker by which its resolver is reached make the kernel remember all connections in the namespace. They are
kept in a table that the whole machine shares, in memory that does not count as the agent's, and their maximum (262,144
on a large machine) is counted for each namespace by itself. Therefore only connections with the resolver are
remembered, and of these only as many as the agent may begin.
"""

from pathlib import Path
from typing import NamedTuple

from containers.firewall.rules import PROGRAMS
from containers.programs import ProgramError, find_program, is_root, run_program

NAME_SERVER = "127.0.0.11"
"""Docker's resolver has no IPv6 address. Its port is a random one that an agent may find, so the rules cover all ports.
"""

QUESTIONS_RATE, QUESTIONS_BURST = "50/sec", 200
"""How many packets an agent may send to it. Each look-up of a name takes one for IPv4 and one for IPv6."""

STREAM_RATE, STREAM_BURST = "4kb/s", "16kb"
"""How much of that may be TCP, because one TCP packet can contain thousands of questions."""

_LIMITED = f"-m limit --limit {QUESTIONS_RATE} --limit-burst {QUESTIONS_BURST}"

RULES = f"""\
*raw
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A OUTPUT -d {NAME_SERVER}/32 {_LIMITED} -j ACCEPT
-A OUTPUT -s {NAME_SERVER}/32 {_LIMITED} -j ACCEPT
-A OUTPUT -j CT --notrack
-A PREROUTING -d {NAME_SERVER}/32 -m conntrack --ctstate UNTRACKED -j DROP
-A PREROUTING -s {NAME_SERVER}/32 -m conntrack --ctstate UNTRACKED -j DROP
-A PREROUTING -d {NAME_SERVER}/32 -p tcp -m hashlimit --hashlimit-mode dstip --hashlimit-name berth-names \
--hashlimit-above {STREAM_RATE} --hashlimit-burst {STREAM_BURST} -j DROP
-A PREROUTING -d {NAME_SERVER}/32 -j ACCEPT
-A PREROUTING -s {NAME_SERVER}/32 -j ACCEPT
-A PREROUTING -j CT --notrack
COMMIT
"""
"""For `iptables-restore`, which replaces the whole table at once and can be repeated.

Excess packets are dropped silently, as on the host: they depart without being remembered, and are dropped on arrival,
because the kernel notifies the sender of packets that it drops on departure. The resolver's answers are limited as
well, because an agent can send from its address, too.
"""

_OWN = "/proc/self/ns/net"
_PROGRAM = f"{PROGRAMS[4]}-restore"
_LIMIT = 10.0


class Namespace(NamedTuple):
    """An existing network namespace: its file, and the device and inode that identify it."""

    path: str
    device: int
    inode: int


def find_namespace(path: str) -> Namespace | None:
    """Returns the namespace of this file, or None if it has none, or if that is this process's own."""
    try:
        found, own = Path(path).stat(), Path(_OWN).stat()
    except (OSError, ValueError):
        return None
    # All namespaces are on one device of the kernel. The file remains for a while when its namespace is gone.
    if found.st_dev != own.st_dev or found.st_ino == own.st_ino:
        return None
    return Namespace(path, found.st_dev, found.st_ino)


def find_obstacle() -> str | None:
    """Returns why this process cannot set rules in other namespaces, or None."""
    if not is_root():
        return "Berth is not root and may not enter the agents' network namespaces."
    missing = next((name for name in ("nsenter", _PROGRAM) if find_program(name) is None), None)
    return f"{missing} is not installed here." if missing else None


def limit_questions(namespace: Namespace) -> None:
    """Sets the rules in this namespace. Raises `ProgramError`."""
    program = find_program(_PROGRAM)
    if program is None:
        message = f"{_PROGRAM} is not installed here."
        raise ProgramError(message)
    run_program("nsenter", f"--net={namespace.path}", program, "-w", seconds=_LIMIT, given=RULES)
