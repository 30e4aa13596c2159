"""Each command of `manage.py` gives its result or a sentence if something in the data directory is not what it was.

Generated: a new command is in.
"""

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.config.test_command_arguments import environment, run
from tests.config.valid_commands import ours, usual

__all__ = ["environment"]
pytestmark = [pytest.mark.one_database, pytest.mark.timeout(300)]

COMMANDS = sorted(ours() - {"watch"})  # which does not end by itself
FILES = ("migrating.lock", "restore.lock", "restore.json", "serve-8000.pid", "static.digest", "static", "berth.sqlite3")


def put(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    make(path)


def scramble(path: Path) -> None:
    """As a power cut may leave it. A database is not one of the files that anything could replace."""
    path.write_bytes(b"\xf5\0" * 40) if path.suffix != ".sqlite3" else path.touch()


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("command", "name", "make"), [*product(COMMANDS, FILES, (Path.mkdir, Path.touch, scramble))])
def test_something_else_in_the_place_of_a_file_is_a_sentence(
    command: str, name: str, make: Callable[[Path], object], environment: dict[str, str], tmp_path: Path
) -> None:
    data = tmp_path / "var"
    put(data / name, make)
    arguments = usual(command).arguments(data, "unix:///nowhere")
    (answer,) = [json.loads(line) for line in run(environment, given=json.dumps([arguments])).splitlines()]
    _, code, said, errors = answer
    assert "Traceback" not in said + errors, errors
    assert code in {0, 1, 2, 3}
    assert not code or len(errors.strip().splitlines()) == 1, errors
    assert "server is running" not in errors
