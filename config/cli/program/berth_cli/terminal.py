"""What is said and asked in a terminal. Answers go to standard output, all else to standard error."""

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
    """Lets no character fail that a terminal of another encoding cannot show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    # A secret that comes from a file or a program there begins with three letters of nobody, where it is read in the
    # system's own encoding and has a mark in front.
    if os.name == "nt" and sys.stdin is not None and not sys.stdin.isatty():
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8")


def say(line: str) -> None:
    """An answer, to standard output."""
    sys.stdout.write(f"{printable(line) if sys.stdout.isatty() else line}\n")
    sys.stdout.flush()


def tell(line: str) -> None:
    """What goes on, to standard error."""
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def printable(line: str) -> str:
    """Without what would steer the terminal: a log or a name of others could hide or fake what is shown. Colours are
    added to what is printable, by `paint`.
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
    """Columns, or None where the answer goes elsewhere and nothing has to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, *, default: str = "", option: str = "") -> str:
    """One line. Where nobody can be asked, `option` is what the user has to say instead."""
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
    """One line that is not shown."""
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
        instead = f" Say {option}." if option else ""
        raise UsageError(f"Here is no terminal to ask for “{question}”.{instead}")
