"""Finds a folder's Python packages, for a machine that reaches no package registry."""

from contextlib import suppress
from pathlib import Path

from containers.errors import EngineRefusedError


def find_wheels(folder: str) -> tuple[Path, ...]:
    """Returns the packages in the folder, or none without a folder. Raises `EngineRefusedError` if it has none."""
    if not folder:
        return ()
    found: tuple[Path, ...] = ()
    with suppress(OSError):  # a name that no file system takes, or a folder that may not be read
        found = tuple(sorted(Path(folder).glob("*.whl"))) if Path(folder).is_dir() else ()
    if not found:
        message = (
            f"There is no .whl file in {folder}. On a machine with a registry fill it with "
            "`pip download --only-binary :all: --python-version 3.13 --dest DIR -r` and the requirements.txt of each "
            "image in containers/images."
        )
        raise EngineRefusedError(message)
    return found
