"""The standard output of a command: the API's own document with --json, otherwise lines for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from berth_cli.api import Document
from berth_cli.errors import CommandError
from berth_cli.terminal import flush_out, print_err, print_out, write_out


@dataclass
class Output:
    """`goes_on` is the sentence for a user who interrupts the command."""

    as_json: bool
    goes_on: str = ""

    def show(self, document: Document, lines: Iterable[str]) -> None:
        """Writes the document or the lines. `lines` may be a generator, so that no table is made for a program."""
        if self.as_json:
            self.verbatim(document.raw)
        else:
            for line in lines:
                write_out(f"{line}\n")

    def verbatim(self, content: bytes) -> None:
        if content:
            write_out(content.rstrip(b"\n") + b"\n")
            flush_out()

    def line(self, line: str) -> None:
        """Writes a line for people, which programs do not need."""
        if not self.as_json:
            print_out(line)

    def progress(self, line: str) -> None:
        if not self.as_json:
            print_err(line)

    def refuse(self, error: CommandError) -> None:
        """Writes the sentence to standard error. With --json it also writes the API's problem document, if there is
        one.
        """
        if self.as_json:
            self.verbatim(error.document)
        print_err(f"berth: {error}")
