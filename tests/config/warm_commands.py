"""Runs commands of `manage.py` in forks of a process that has imported everything that does not depend on the
environment.

A new interpreter for each command would import Django, which takes most of the time of a command that refuses its
configuration. Each fork reads the settings again.
"""

import importlib
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.paths import ROOT

BEFORE = ("csp.constants", "cryptography.fernet", "django.core.management", "environ")
"""Modules that the settings import."""


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class WarmCommands:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, folder: Path, *arguments: str, environment: Mapping[str, str]) -> Done:
        """Runs a command. Its output goes through files in `folder`."""
        assert self._process.stdin
        assert self._process.stdout
        files = [str(folder / name) for name in ("stdout", "stderr")]
        self._process.stdin.write(json.dumps([list(arguments), dict(environment), files]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Done(code, *(Path(file).read_text() for file in files))


@contextmanager
def warm_commands() -> Iterator[WarmCommands]:
    command = [sys.executable, "-m", "tests.config.warm_commands"]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield WarmCommands(process)
        assert process.stdin
        process.stdin.close()  # at the end of its input it ends


def main() -> None:
    for module in BEFORE:
        importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(*json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(arguments: list[str], environment: dict[str, str], files: list[str]) -> NoReturn:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["manage.py", *arguments]
    runpy.run_path("manage.py", run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    main()
