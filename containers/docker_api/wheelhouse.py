"""A folder of Python packages, for a machine that reaches no registry of them."""

from pathlib import Path

from containers.errors import EngineRefusedError


def find_wheels(folder: str) -> tuple[Path, ...]:
    """The packages in the folder; none where none is named. Raises `EngineRefusedError` where the folder has none."""
    if not folder:
        return ()
    found = tuple(sorted(Path(folder).glob("*.whl"))) if Path(folder).is_dir() else ()
    if not found:
        message = (
            f"There is no .whl file in {folder}. On a machine with a registry fill it with "
            "`pip download --only-binary :all: --python-version 3.13 --dest DIR -r` and the requirements.txt of each "
            "image in containers/images."
        )
        raise EngineRefusedError(message)
    return found
