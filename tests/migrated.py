"""An unused SQLite database of this version, to be copied, because the migrations take seconds.

python -m tests.migrated FILE    makes one, for processes that have its path in BERTH_TEST_MIGRATED
"""

import atexit
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import django

from tests.paths import ROOT

MADE = "BERTH_TEST_MIGRATED"
"""The variable with the path of a database that was made for several processes."""


def copy_migrated(data: Path) -> None:
    """Copies it into a data directory that has no database yet."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy2(migrated(), data / "berth.sqlite3")


@cache
def migrated() -> Path:
    if MADE in os.environ:
        return Path(os.environ[MADE])
    folder = Path(mkdtemp(prefix="berth-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / "berth.sqlite3"
    command = [sys.executable, "-m", "tests.migrated", str(made)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return made


def main(target: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("BERTH_", "DATABASE_"))]:
        del os.environ[name]
    with TemporaryDirectory(prefix="berth-tests-") as data:
        os.environ |= {"BERTH_DATA_DIR": data, "DJANGO_SETTINGS_MODULE": "config.settings"}
        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        connection.close()  # the last one: SQLite moves its journal into the file
        shutil.copy2(Path(data, "berth.sqlite3"), target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
