"""berth upgrade: replaces this file by the program that the installation serves now."""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

from berth_cli import VERSION
from berth_cli.contexts import Context, note, read_note
from berth_cli.errors import CommandError, UnreachableError
from berth_cli.output import Output
from berth_cli.private_files import explain, write_whole
from berth_cli.terminal import print_err
from berth_cli.transport import Transport

PATH = "/cli"
VERSION_HEADER = "X-Berth-Cli-Version"
"""Path and header of the program at the service. `config/cli/view.py` has them too."""

DAY = 86_400.0
LOOK_WITHIN = 2.0
"""Seconds that a command may take longer to check for a newer program."""

LOOKED = "looked-for-newer"


def upgrade(_options: argparse.Namespace, context: Context, out: Output) -> int:
    """Sends no token, because anyone may download the program."""
    target = own_file()
    if target is None:
        raise CommandError("This program does not run from its one file, so it cannot replace it.")
    transport = Transport(context.url, ca=context.ca)
    answer = transport.send("GET", PATH, headers={})
    if answer.status != 200 or not _is_program(answer.body):
        raise UnreachableError(f"{transport.host} does not serve this program. The installation may be older.")
    version = str(answer.headers.get(VERSION_HEADER) or "?")
    if answer.body == target.read_bytes():
        out.line(f"This is what {transport.host} serves: version {VERSION}.")
        return 0
    try:
        write_whole(target, answer.body, mode=target.stat().st_mode & 0o777)
    except OSError as error:
        raise explain(error, f"{target} cannot be written") from None
    out.line(f"{target} is now version {version}; it was {VERSION}.")
    return 0


def hint_at_newer(context: Context) -> None:
    """Says once a day, in a terminal, whether the installation serves a newer program. Fails silently."""
    if not sys.stderr.isatty() or os.environ.get("BERTH_NO_HINTS") or own_file() is None:
        return
    with suppress(CommandError, OSError, ValueError):
        if abs(time.time() - read_note(LOOKED)) < DAY:
            return
        note(LOOKED)
        answer = Transport(context.url, ca=context.ca).send("HEAD", PATH, headers={}, within=LOOK_WITHIN)
        served = str(answer.headers.get(VERSION_HEADER) or "")
        if answer.status == 200 and read_version(served) > read_version(VERSION):
            print_err(
                f"Version {served} of this program is available, and this is {VERSION}: `berth upgrade` installs it."
            )


def read_version(written: str) -> tuple[int, ...]:
    """Raises ValueError."""
    return tuple(int(part) for part in written.split("."))


def own_file() -> Path | None:
    """Returns the running file, or None if the program runs from a directory of modules."""
    path = Path(sys.argv[0]) if sys.argv and sys.argv[0] else None
    return path.resolve() if path is not None and path.is_file() and zipfile.is_zipfile(path) else None


def _is_program(content: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            return "berth_cli/main.py" in packed.namelist() and packed.testzip() is None
    except (zipfile.BadZipFile, OSError, ValueError):
        return False
