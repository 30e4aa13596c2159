"""Files that hold tokens: for their owner alone, and either as they were or as they are to be."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from berth_cli.errors import CommandError, UsageError

LONGEST_SECRET = 4096

BYTE_ORDER_MARK = "\ufeff"
"""What Notepad writes in front of a text."""

_ON_WINDOWS = os.name == "nt"


def settings_folder() -> Path:
    """Where this user's programs keep their settings (XDG; on Windows its own place)."""
    base = os.environ.get("APPDATA", "") if _ON_WINDOWS else os.environ.get("XDG_CONFIG_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base) / "berth"
    try:
        return Path.home() / ".config" / "berth"
    except RuntimeError:
        variable = "APPDATA" if _ON_WINDOWS else "XDG_CONFIG_HOME"
        raise UsageError(f"This user has no home directory for the settings. Set {variable}.") from None


def write_whole(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Puts the file there in one step: a crash leaves the former one. Raises OSError."""
    target = Path(os.path.realpath(path))  # where people keep their settings elsewhere, the link stays
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def make_private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _ON_WINDOWS and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lets one of several commands change the settings at a time. Where the system has no such lock, all of them."""
    make_private_folder(folder)
    with (folder / "lock").open("a+b") as file:
        _lock(file.fileno())
        try:
            yield
        finally:
            _unlock(file.fileno())


def read_secret(source: str, *, what: str, has_spaces: bool = False) -> str:
    """What stands in the file, or comes by standard input for `-`, without the space around it, nor the mark that
    Windows puts in front. Where it may have spaces, only the end of the line is taken away. Raises `UsageError`.
    """
    text = read_text(source, called=f"The file for {what}", at_most=LONGEST_SECRET)
    secret = text.rstrip("\r\n") if has_spaces else text.strip()
    if not secret or len(text) > LONGEST_SECRET or len(secret.splitlines() if has_spaces else secret.split()) > 1:
        raise UsageError(f"What was given for {what} is not one. Put it, and nothing else, into the file.")
    return secret


def read_text(source: str, *, called: str, at_most: int) -> str:
    """What stands in the file, or comes by standard input for `-`, without the mark that Windows puts in front.

    Of a longer text `at_most` letters and one more, by which it is known. Raises `UsageError`.
    """
    try:
        if source == "-":
            found = sys.stdin.read(at_most + 2)
        else:
            with Path(source).expanduser().open(encoding="utf-8") as file:
                found = file.read(at_most + 2)
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        reason = "it is no text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        raise UsageError(f"{called} cannot be read: {reason}.") from None
    return found.removeprefix(BYTE_ORDER_MARK)[: at_most + 1]


def explain(error: OSError, doing: str) -> CommandError:
    return CommandError(f"{doing}: {error.strerror or error}.")


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        except OSError as error:  # which it raises where ten seconds have brought nothing
            if error.errno not in {errno.EDEADLK, errno.EACCES}:
                raise
            raise CommandError("Another berth changes the settings for long. Try again when it has ended.") from None
    else:
        import fcntl  # noqa: PLC0415 - there is none on Windows

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _unlock(descriptor: int) -> None:
    """Elsewhere closing the file does it at once. Windows does it some time after that."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
