"""berth context: lists the known installations, and chooses the current one."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from berth_cli.contexts import Contexts, change_contexts, read_contexts
from berth_cli.errors import UsageError
from berth_cli.output import Output
from berth_cli.tables import write_table
from berth_cli.terminal import print_out


def contexts(options: argparse.Namespace, out: Output) -> int:
    if options.name:
        change_contexts(lambda found: _use(found, options.name))
        out.line(f"Commands now go to {options.name}.")
        return 0
    found = read_contexts()
    if out.as_json:
        listed = [{"name": c.name, "url": c.url, "email": c.email, "current": c.name == found.current}
                for c in found.known.values()]  # fmt: skip
        print_out(json.dumps(listed))
        return 0
    rows = [["*" if c.name == found.current else "", c.name, c.url, c.email] for c in found.known.values()]
    for line in write_table(["", "NAME", "ADDRESS", "EMAIL"], rows):
        out.line(line)
    return 0


def _use(found: Contexts, name: str) -> Contexts:
    if name not in found.known:
        raise UsageError(f"There is no context “{name}”. `berth context` lists the known ones.")
    return replace(found, current=name)
