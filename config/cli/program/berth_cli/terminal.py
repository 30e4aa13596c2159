"""Reads from and writes to the terminal. Answers go to standard output, everything else to standard error."""

from __future__ import annotations

import errno
import getpass
import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from berth_cli.errors import OutputError, UsageError

GREEN, YELLOW, RED, DIM = "32", "33", "31", "2"

_LINE_ENDS = {"\n", "\t"}


def prepare_streams() -> None:
    """Prevents errors for characters that the terminal's encoding cannot show, and for streams that are closed.

    Raises `UsageError` if standard output is closed: what the command does would be done, and nobody would know.
    """
    if sys.stdin is None:
        sys.stdin = io.StringIO()
    if sys.stderr is None:
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        raise UsageError("Standard output is closed, so nothing was done. Open it, or send it to /dev/null.")
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
    write_out(f"{printable(line) if sys.stdout.isatty() else line}\n")
    flush_out()


def write_out(content: str | bytes) -> None:
    """Writes to standard output, which may stay in memory until `flush_out`. Raises `OutputError`."""
    with _telling_failure():
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)


def flush_out() -> None:
    """Raises `OutputError`."""
    with _telling_failure():
        sys.stdout.flush()


@contextmanager
def _telling_failure() -> Iterator[None]:
    """Turns an error into an `OutputError`, for example of a full disk, but not that nobody reads any more."""
    try:
        yield
    except OSError as error:
        if is_closed_pipe(error):
            raise
        raise OutputError(
            f"The output cannot be written ({error.strerror or error}). The command itself has been carried out."
        ) from None


def is_closed_pipe(error: OSError) -> bool:
    """Windows has no error of its own for it. An error about a file contains the name of that file."""
    is_of_windows = os.name == "nt" and error.errno == errno.EINVAL and error.filename is None
    return is_of_windows or isinstance(error, BrokenPipeError)


def print_err(line: str) -> None:
    """Writes progress or an error to standard error. The command continues even if nobody can read it."""
    try:
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()
    except OSError:
        sys.stderr = io.StringIO()  # at its end Python would try again to write the line, and change the exit code


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
