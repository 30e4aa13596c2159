"""Runs commands of `manage.py`, each in a fork of one process, and interrupts it as by Ctrl-C at its n-th step.

A step is what Python reports to an audit hook: a file that is opened, a program that is started, a connection that is
made, a module that is imported. The input has the cases: the arguments and the step.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import django

from config.management import command_line
from tests.config.command_arguments import PATIENCE

STEPS = {
    "open", "import", "sqlite3.connect", "socket.connect", "subprocess.Popen", "os.rename", "os.mkdir", "os.remove",
}  # fmt: skip


class Interrupt:
    """Sends SIGINT to this process at the n-th step of its main thread."""

    def __init__(self, at: int) -> None:
        self.left, self._thread = at, threading.get_ident()

    def audit(self, event: str, _: Any) -> None:
        if event in STEPS and threading.get_ident() == self._thread:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGINT)


def _run(arguments: list[str], at: int, folder: Path) -> NoReturn:
    for number, name in enumerate(("stdout", "stderr"), 1):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.chdir(folder / "here")
    signal.alarm(PATIENCE)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as manage.py begins
    sys.argv = ["manage.py", *arguments]
    interrupt = Interrupt(at)
    sys.addaudithook(interrupt.audit)
    try:
        code = command_line.run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    if interrupt.left > 0:
        (folder / "over").touch()
    sys.exit(code)


def main() -> None:
    folder = Path(os.environ["BERTH_DATA_DIR"]).parent
    django.setup()
    for arguments, at in json.load(sys.stdin):
        (folder / "over").unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _run(arguments, at, folder)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [(folder / name).read_bytes().decode(errors="replace") for name in ("stdout", "stderr")]
        sys.stdout.write(json.dumps([arguments, at, code, (folder / "over").exists(), *said]) + "\n")


if __name__ == "__main__":
    main()
