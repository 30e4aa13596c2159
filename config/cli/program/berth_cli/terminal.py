"""Reads from and writes to the terminal. Answers go to standard output, everything else to standard error."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
import unicodedata

from berth_cli.errors import UsageError

GREEN, YELLOW, RED, DIM = "32", "33", "31", "2"

_LINE_ENDS = {"\n", "\t"}


def prepare_streams() -> None:
    """Prevents errors for characters that the terminal's encoding cannot show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    # On Windows, piped text may begin with a byte order mark, which would be read as three letters in the system's own
    # encoding.
    if os.name == "nt" and sys.stdin is not None and not sys.stdin.isatty():
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8")


def print_out(line: str) -> None:
    """Writes an answer to standard output."""
    sys.stdout.write(f"{printable(line) if sys.stdout.isatty() else line}\n")
    sys.stdout.flush()


def print_err(line: str) -> None:
    """Writes progress or an error to standard error."""
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def printable(line: str) -> str:
    """Returns the line without control characters: a log or a name of others could hide or fake output. `paint` adds
    colours to printable text.
    """
    return "".join(
        character if character in _LINE_ENDS or unicodedata.category(character) not in {"Cc", "Cf", "Cs"} else "�"
        for character in line
    )


def paint(line: str, colour: str) -> str:
    return f"\x1b[{colour}m{line}\x1b[0m" if colour and has_colours() else line


def has_colours() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return False
    return os.name != "nt" or bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))


def width_of_terminal() -> int | None:
    """Returns the number of columns, or None if the output goes elsewhere and nothing has to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, *, default: str = "", option: str = "") -> str:
    """Asks for one line. `option` is what the user can give instead if there is no terminal."""
    _check(question, option)
    while True:
        sys.stderr.write(f"{printable(question)}{f' [{default}]' if default else ''}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise UsageError("Nothing was typed.")
        if line.strip() or default:
            return line.strip() or default


def ask_secret(question: str, *, option: str = "") -> str:
    """Asks for one line that is not shown."""
    _check(question, option)
    try:
        secret = getpass.getpass(f"{question}: ", stream=sys.stderr)
    except EOFError:
        raise UsageError("Nothing was typed.") from None
    if not secret:
        raise UsageError("Nothing was typed.")
    return secret


def confirm(question: str, *, option: str) -> bool:
    return ask(f"{question} (y/N)", default="N", option=option).lower() in {"y", "yes"}


def _check(question: str, option: str) -> None:
    if not can_ask():
        instead = f" Use {option}." if option else ""
        raise UsageError(f"There is no terminal to ask for “{question}”.{instead}")
