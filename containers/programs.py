"""Runs the programs that set firewall rules and create base images, and Berth again. No other module starts programs.

It never uses a shell, and never passes anything that a user of the service typed.
"""

import os
import shutil
import subprocess  # nosec B404 - the purpose of this module
from collections.abc import Sequence
from typing import IO, NoReturn

_ADMIN_PATH = "/usr/sbin:/sbin"

Process = subprocess.Popen[bytes]


class ProgramError(Exception):
    """A program failed. The message is a sentence that ends with the last line of its error output.

    `lines` is all of that output.
    """

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def find_program(name: str) -> str | None:
    """Returns the full path of the program, or None if it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ADMIN_PATH}")


def is_root() -> bool:
    return os.geteuid() == 0


def is_local_engine() -> bool:
    """Returns whether the engine listens on a Unix socket of this machine, which may have several engines."""
    return (os.environ.get("DOCKER_HOST") or "unix://").startswith("unix://")


def become_program(path: str, *arguments: str) -> NoReturn:
    """Replaces this process with another program of Berth."""
    os.execv(path, [path, *arguments])  # noqa: S606  # nosec B606 - a list of our own arguments, no shell


def begin_again(command: Sequence[str], *, errors: IO[bytes]) -> Process:
    """Begins another process of this program, which writes its errors to `errors`. Raises `OSError`.

    It has a process group of its own, because Ctrl-C at the terminal is for this process.
    """
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=errors, process_group=0)  # noqa: S603  # nosec B603 - our own command


def run_program(
    name: str, *arguments: str, seconds: float, given: str | None = None, output: IO[bytes] | None = None
) -> str:
    """Runs the program and returns its output, or writes it to `output`.

    `given` is its standard input. Raises `ProgramError` if it fails or takes longer than `seconds`.
    """
    path = find_program(name)
    if path is None:
        message = f"{name} is not installed."
        raise ProgramError(message)
    try:
        done = subprocess.run(  # noqa: S603  # nosec B603 - a list of our own arguments, no shell
            [path, *arguments],
            input=given.encode() if given is not None else None,
            stdin=subprocess.DEVNULL if given is None else None,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{name} could not do its work: {error}"
        raise ProgramError(message) from error
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        message = f"{name} failed with status {done.returncode}: {errors[-1] if errors else 'it said nothing'}"
        raise ProgramError(message, errors)
    return (done.stdout or b"").decode(errors="replace")
