"""Files with tokens: readable only by their owner, and replaced in one step."""

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
"""Notepad writes it at the beginning of a text."""

_ON_WINDOWS = os.name == "nt"


def settings_folder() -> Path:
    """Returns the directory in which this user's programs keep their settings (XDG, or APPDATA on Windows)."""
    base = os.environ.get("APPDATA", "") if _ON_WINDOWS else os.environ.get("XDG_CONFIG_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base) / "berth"
    try:
        return Path.home() / ".config" / "berth"
    except RuntimeError:
        variable = "APPDATA" if _ON_WINDOWS else "XDG_CONFIG_HOME"
        raise UsageError(f"This user has no home directory for the settings. Set {variable}.") from None


def write_whole(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replaces the file in one step: after a crash the previous one is still there. Raises OSError."""
    target = Path(os.path.realpath(path))  # a link to settings elsewhere is kept
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
    """Lets one command at a time change the settings. Without effect on systems that have no such lock."""
    make_private_folder(folder)
    with (folder / "lock").open("a+b") as file:
        _lock(file.fileno())
        try:
            yield
        finally:
            _unlock(file.fileno())


def read_secret(source: str, *, what: str, has_spaces: bool = False) -> str:
    """Returns the content of the file, or of standard input for `-`, without surrounding space and without the byte
    order mark of Windows. If spaces are allowed, only the line end is removed. Raises `UsageError`.
    """
    text = read_text(source, called=f"The file for {what}", at_most=LONGEST_SECRET)
    secret = text.rstrip("\r\n") if has_spaces else text.strip()
    if not secret or len(text) > LONGEST_SECRET or len(secret.splitlines() if has_spaces else secret.split()) > 1:
        raise UsageError(f"The text given as {what} is not valid. Put it, and nothing else, into the file.")
    return secret


def read_text(source: str, *, called: str, at_most: int) -> str:
    """Returns the content of the file, or of standard input for `-`, without the byte order mark of Windows. Returns at
    most `at_most` characters and one more, which shows that the text is longer. Raises `UsageError`.
    """
    try:
        if source == "-":
            found = sys.stdin.read(at_most + 2)
        else:
            with Path(source).expanduser().open(encoding="utf-8") as file:
                found = file.read(at_most + 2)
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        reason = (
            "it is not text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        )
        raise UsageError(f"{called} cannot be read: {reason}.") from None
    return found.removeprefix(BYTE_ORDER_MARK)[: at_most + 1]


def explain(error: OSError, doing: str) -> CommandError:
    return CommandError(f"{doing}: {error.strerror or error}.")


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        except OSError as error:  # raised after ten seconds of waiting
            if error.errno not in {errno.EDEADLK, errno.EACCES}:
                raise
            raise CommandError("Another berth command is changing the settings. Try again when it has ended.") from None
    else:
        import fcntl  # noqa: PLC0415 - there is none on Windows

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _unlock(descriptor: int) -> None:
    """On other systems closing the file unlocks it at once. On Windows that may take some time."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
