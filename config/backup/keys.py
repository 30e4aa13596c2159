"""The keys of an installation in a separate file, which is never part of an archive."""

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cryptography.fernet import Fernet
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from config.backup.errors import BackupError
from config.backup.whole_files import sync_directory, why_not_written, write_whole
from config.environment import env
from config.environment.small_files import read_small
from containers.outbound.foreign_json import read_json

SECRET, TOKEN, ENCRYPTION = "BERTH_SECRET_KEY", "BERTH_TOKEN_KEY", "BERTH_ENCRYPTION_KEYS"
NAMES = (SECRET, TOKEN, ENCRYPTION)
LARGEST = 64 * 1024

Keys = Mapping[str, str]


def current_keys() -> Keys:
    """Returns the keys of this process."""
    return {
        SECRET: settings.SECRET_KEY,
        TOKEN: settings.BERTH_TOKEN_KEY,
        ENCRYPTION: ",".join(settings.BERTH_ENCRYPTION_KEYS),
    }


def encryption_keys(keys: Keys) -> list[str]:
    return keys[ENCRYPTION].split(",")


@sensitive_variables()
def write_key_file(path: Path) -> None:
    """Writes the keys. Raises `BackupError`, also if the file contains other keys, because a backup
    may depend on them.
    """
    keys = current_keys()
    try:
        is_there = path.is_file()
    except OSError as error:
        raise BackupError(why_not_written(path, error)) from None
    if is_there and read_key_file(path) != keys:
        raise BackupError(f"{path} contains other keys, which older backups may need. Name another file for these.")
    content = json.dumps({"product": "berth", "format": 1, "keys": dict(keys)}, indent=1)
    write_whole(path, content.encode() + b"\n")


@sensitive_variables()
def read_key_file(path: Path) -> Keys:
    """Raises `BackupError` if the file is not a key file. It may be a pipe, which can be read only once."""
    try:
        value = read_json(read_small(path, most=LARGEST))
    except OSError as error:
        raise BackupError(f"{path} cannot be read ({error.strerror}). Check the path and its permissions.") from None
    except ValueError:
        value = None
    keys = value.get("keys") if isinstance(value, dict) and value.get("product") == "berth" else None
    if not isinstance(keys, dict) or set(keys) != set(NAMES) or not all(_is_text(key) for key in keys.values()):
        raise BackupError(
            f"{path} is not a key file of `manage.py backup --with-keys`. Name the key file of this archive."
        )
    try:
        for key in keys[ENCRYPTION].split(","):
            Fernet(key)
    except ValueError:
        raise BackupError(f"{path} is damaged: it contains no encryption key. Use another copy of it.") from None
    return {name: keys[name] for name in NAMES}


@sensitive_variables()
def require_installable(keys: Keys) -> None:
    """Raises `BackupError` if the environment sets another value, because it would override the file."""
    current = current_keys()
    for name in NAMES:
        if env.text(name) and keys[name] != current[name]:
            raise BackupError(
                f"{name} is set in the environment and differs from the key file. Set it to the value of the file, or "
                "do not set it."
            )


@contextmanager
@sensitive_variables()
def installed_keys(keys: Keys, report: Callable[[str], None]) -> Iterator[None]:
    """Writes the key files of the data directory; the former ones are kept next to them. May be run again after a kill.

    If this or the block raises, the former files return. Raises `BackupError`.
    """
    former: dict[Path, Path] = {}
    try:
        for name in NAMES:
            if keys[name] != current_keys()[name]:
                _install(_key_file(name), f"{keys[name]}\n".encode(), former, report)
        yield
    except BaseException:
        _put_back(former)
        raise


def _put_back(former: Mapping[Path, Path]) -> None:
    for path, kept in former.items():
        kept.replace(path)
        kept.unlink(missing_ok=True)  # it stays if both are one file, which was not replaced yet
    if former:
        sync_directory(Path(settings.BERTH_DATA_DIR))


@sensitive_variables()
def _install(path: Path, content: bytes, former: dict[Path, Path], report: Callable[[str], None]) -> None:
    try:
        if path.exists() and path.read_bytes() == content:
            return
        if path.exists():
            kept = path.with_name(f"{path.name}.replaced-{secrets.token_hex(4)}")
            os.link(path, kept)
            former[path] = kept
            sync_directory(path.parent)
    except OSError as error:
        raise BackupError(why_not_written(path, error)) from None
    write_whole(path, content, for_owner=True)
    report(f"… Wrote {path.name}")


def _key_file(name: str) -> Path:
    return Path(settings.BERTH_DATA_DIR) / f"{name.removeprefix('BERTH_').lower()}.key"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()
