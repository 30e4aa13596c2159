"""Runs other programs: those that set firewall rules and make base images. Nothing else starts a program.

Never through a shell, and never with anything that a user of the service typed.
"""

import os
import shutil
import subprocess  # nosec B404 - the purpose of this module
from typing import IO, NoReturn

_ADMIN_PATH = "/usr/sbin:/sbin"


class ProgramError(Exception):
    """A program failed. The message is a sentence that ends with the last line of its error output."""


def find_program(name: str) -> str | None:
    """The full path of the program, or None where it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ADMIN_PATH}")


def is_root() -> bool:
    return os.geteuid() == 0


def is_local_engine() -> bool:
    """Whether the engine is reached through a socket of this machine. There may be several."""
    return os.environ.get("DOCKER_HOST", "unix://").startswith("unix://")


def become_program(path: str, *arguments: str) -> NoReturn:
    """Goes on as this program of Berth's own, in the same process."""
    os.execv(path, [path, *arguments])  # noqa: S606  # nosec B606 - a list of our own arguments, no shell


def run_program(
    name: str, *arguments: str, seconds: float, given: str | None = None, output: IO[bytes] | None = None
) -> str:
    """Runs the program and returns what it printed, or writes that to `output`.

    `given` is its input. Raises `ProgramError` where it fails or takes longer than `seconds`.
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
        raise ProgramError(message)
    return (done.stdout or b"").decode(errors="replace")
