"""Records in the data directory that a restore has begun, so that a half-restored installation is never served.

A killed process leaves the marker. Berth then does not start until the restore was run again or abandoned.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.conf import settings

from config.backup.errors import BackupError
from config.backup.whole_files import write_whole
from config.environment.ownership import advise, give_to_owner

LOCK = "restore.lock"


@dataclass(slots=True, kw_only=True)
class Marker:
    """`archive` is the archive's id, `memory` lists the agents whose memory is restored, and `finished` means that all
    is done. `replacing` means that the keys and the database are being replaced: they may not belong together.
    """

    archive: str
    installation: str
    finished: bool = False
    replacing: bool = False
    memory: list[str] = field(default_factory=list)

    @staticmethod
    def remove() -> None:
        _path().unlink(missing_ok=True)

    def write(self) -> None:
        write_whole(_path(), json.dumps(asdict(self)).encode(), for_owner=True)


def _path() -> Path:
    return Path(settings.BERTH_DATA_DIR) / "restore.json"


def read_marker() -> Marker | None:
    """Returns the marker of the last restore, or None if there is none. Raises `BackupError` if it cannot be read."""
    try:
        return Marker(**json.loads(_path().read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackupError(f"{_path()} cannot be read ({error.strerror}). {advise(error)}") from None
    except (ValueError, TypeError):
        raise BackupError(f"{_path()} cannot be read. Delete it to start Berth, or to restore again.") from None


def require_no_restore() -> None:
    """Raises `BackupError` if a restore is in progress or was killed."""
    marker = read_marker()
    if marker is None or marker.finished:
        return
    again = "A restore has begun but not finished. Run `manage.py restore` with the same archive"
    if marker.replacing:
        raise BackupError(f"{again} and the same --keys again: the present keys may not be those of the database.")
    raise BackupError(f"{again} again, or delete {_path()} to continue with the database as it is.")


@contextmanager
def only_one() -> Iterator[None]:
    """Raises `BackupError` if another process is restoring."""
    path = Path(settings.BERTH_DATA_DIR) / LOCK
    try:
        path.touch(mode=0o600)
        give_to_owner(path, path.parent)
        file = path.open("rb")
    except OSError as error:
        raise BackupError(f"{path} cannot be used ({error.strerror}). {advise(error)}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError("Another restore is running here. Wait for it.") from None
        yield
