"""Makes a command independent of the shell that starts it: closed streams, and another program's Django settings."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

SETTINGS = "config.settings"
NO_OUTPUT = "Standard output is closed, so nobody could read the result. Nothing was done. Give the command an output."


def open_closed_streams() -> bool:
    """Opens standard input and standard error on /dev/null if the shell has closed them: otherwise, the next files that
    are opened would take their numbers, and be written to as if they were these streams. Python's own are None.

    Returns whether standard output is open.
    """
    has_output = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    return has_output


def choose_settings() -> None:
    """Ignores the settings of another program, which the shell may have for it."""
    chosen = os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    if chosen != SETTINGS and not _is_here(chosen):
        os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS


def _is_here(module: str) -> bool:
    try:
        found = find_spec(module)
    except (ImportError, ValueError):
        return False
    return found is not None and Path(str(found.origin)).is_relative_to(Path(__file__).parents[2])
