"""Takes away the bridges of an engine of the tests' own that has ended, with their firewall rules.

    .venv/bin/python -m tests.forgotten_bridges FOLDER

The engine has written down its networks in the folder. It leaves their interfaces behind when it ends, and where it is
killed its own rules for them, too: such a rule gives agents of a later network, which has that address, the host's.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from containers.programs import ProgramError, run_program
from tests.engines import remove_bridge

BRIDGE = re.compile(rb"\b(?:berth|bexit|btry)-[0-9a-f]{8}\b")
"""How Berth names them (`containers/firewall/bridge.py`), in a file of the engine's own format."""


def forgotten_bridges(folder: Path) -> list[str]:
    """Returns the names in its file, including those of interfaces that it has removed itself."""
    written = folder / "network/files/local-kv.db"
    return sorted({name.decode() for name in BRIDGE.findall(written.read_bytes())}) if written.exists() else []


def dead_rules(saved: str, *, living: set[str]) -> Iterator[list[str]]:
    """Returns the iptables arguments that remove each rule for a bridge that is gone.
    `saved` is the output of iptables-save."""
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith("-A ") and {name.decode() for name in BRIDGE.findall(line.encode())} - living:
            yield ["-w", "-t", table, "-D", *shlex.split(line)[1:]]


def remove_dead_rules() -> None:
    living = {each.name for each in Path("/sys/class/net").iterdir()}
    for program in ("iptables", "ip6tables"):
        with suppress(ProgramError):  # there is no such program, or another one has just removed the rule
            for words in dead_rules(run_program(f"{program}-save", seconds=20.0), living=living):
                run_program(program, *words, seconds=20.0)


if __name__ == "__main__":
    for bridge in forgotten_bridges(Path(sys.argv[1])):
        if Path("/sys/class/net", bridge).exists():
            remove_bridge(bridge)
    remove_dead_rules()
