"""Keys that an installation generates for itself and keeps in its data directory."""

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.environment import env
from config.environment.ownership import advise, give_to_owner
from config.environment.small_files import read_small

SHORTEST = 32
"""Characters of a key file. A generated one has 44 or more."""

FEWEST_DIFFERENT = 5
"""Different characters of a key that nobody guesses."""

_OURS = ("berth.sqlite3", "*.key", "berth.env", "sbom")
"""Files that only Berth's data directory has. The last two may be there before the first start."""

LONGEST_SHOWN = 200
"""Characters of a path that a message repeats."""


def private_directory(path: Path) -> Path:
    """Returns the directory. Creates it with mode 0700 if it is missing, and closes it if it is open to others.

    If it holds files and none of ours, belongs to another user who lets everyone in, or has the sticky bit like /tmp,
    it is left alone, and the start ends with a sentence that says so. Another user may give a group access, and decides
    who is in it.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            _close(path)
    except OSError as error:
        where, why = _shortened(path), error.strerror
        is_other = os.path.islink(path) or os.path.isfile(path)  # noqa: PTH113, PTH114 - they take a name of any length
        advice = advise(error) if is_other else "Choose a directory that can be written."
        message = f"BERTH_DATA_DIR ({where}) cannot be made ({why}). {advice}"
        raise ImproperlyConfigured(message) from None
    return path


def _shortened(path: Path) -> str:
    """Returns the path for a sentence. A longer one is most likely not a path."""
    return str(path) if len(str(path)) <= LONGEST_SHOWN else f"{str(path)[:LONGEST_SHOWN]}…"


def _close(path: Path) -> None:
    mode, user = stat.S_IMODE(path.stat().st_mode), os.geteuid()
    is_anothers = path.stat().st_uid != user
    if is_anothers and not mode & 0o007:
        return
    is_ours = not any(path.iterdir()) or any(any(path.glob(name)) for name in _OURS)
    if not is_ours:
        message = (
            f"BERTH_DATA_DIR ({path}) is open to other users and holds files that are not Berth's. Choose a directory "
            f"of its own, or close it: chmod 700 {path}"
        )
        raise ImproperlyConfigured(message)
    if is_anothers and user != 0:
        message = (
            f"BERTH_DATA_DIR ({path}) belongs to another user and is open to everybody. Choose a directory of its own, "
            f"or have its owner or root close it: chmod o= {path}"
        )
        raise ImproperlyConfigured(message)
    if mode & stat.S_ISVTX:
        message = (
            f"BERTH_DATA_DIR ({path}) is a shared directory like /tmp: open to other users, and with the sticky bit. "
            f"Choose a directory of its own, or close it: chmod 700 {path}"
        )
        raise ImproperlyConfigured(message)
    path.chmod(mode & 0o770 if is_anothers else 0o700)


def secret(name: str, directory: Path, make: Callable[[], str] = lambda: secrets.token_urlsafe(48)) -> str:
    """Returns the variable, or else its key file in `directory`, created with mode 0600 on first use."""
    if value := env.text(name):
        return value
    path = directory / (name.removeprefix("BERTH_").lower() + ".key")
    try:
        _create_private(path, make())
        value = read_small(path, most=env.LONGEST_FILE).decode("ascii", errors="replace").strip()
    except OSError as error:
        message = f"{name} is not set and its file {path} cannot be used ({error.strerror}). {advise(error)}"
        raise ImproperlyConfigured(message) from None
    if damage := _find_damage(value):
        raise ImproperlyConfigured(f"{name}: the file {path} {damage}. Put the key back from your backup.")
    return value


def require_strength(name: str, value: str, *, least: int) -> str:
    """Returns the key, or refuses one that somebody could guess: of fewer bytes, or of a few repeated characters."""
    if len(value.encode()) < least or len(set(value)) < FEWEST_DIFFERENT:
        message = (
            f"{name} is shorter than {least} bytes or repeats a few characters, so that it can be guessed. Set another "
            "one, as `openssl rand -hex 32` makes it, or leave it out: Berth then makes one."
        )
        raise ImproperlyConfigured(message)
    return value


def _find_damage(value: str) -> str:
    """Detects what a crash of the machine or a full disk may have left. Everyone would know a key of zeros."""
    if not value:
        return "is empty"
    if any(not 0x20 <= ord(character) < 0x7F for character in value if character not in "\r\n\t"):
        return "is damaged: it holds something that is no text"
    return "is damaged: what it holds is too short for a key" if len(value) < SHORTEST else ""


def _create_private(path: Path, content: str) -> None:
    """Creates the file in one step, unless it exists. If two processes start at once, the first one's key wins."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            give_to_owner(descriptor, path.parent)
            file.write(content + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)
