"""What a command leaves on standard output: the API's own document with --json, else lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from berth_cli.api import Document
from berth_cli.errors import CommandError
from berth_cli.terminal import say, tell


@dataclass
class Output:
    """`goes_on` is what is told somebody who interrupts the command."""

    as_json: bool
    goes_on: str = ""

    def show(self, document: Document, lines: Iterable[str]) -> None:
        """One of the two. `lines` may be a generator, so that nobody writes a table for a program."""
        if self.as_json:
            self.verbatim(document.raw)
        else:
            for line in lines:
                sys.stdout.write(f"{line}\n")

    def verbatim(self, content: bytes) -> None:
        if content:
            sys.stdout.flush()
            sys.stdout.buffer.write(content.rstrip(b"\n") + b"\n")
            sys.stdout.buffer.flush()

    def line(self, line: str) -> None:
        """A line for people, of which a program needs nothing."""
        if not self.as_json:
            say(line)

    def progress(self, line: str) -> None:
        if not self.as_json:
            tell(line)

    def refuse(self, error: CommandError) -> None:
        """The sentence on standard error; with --json also what the API has said, where it has."""
        if self.as_json:
            self.verbatim(error.document)
        tell(f"berth: {error}")
