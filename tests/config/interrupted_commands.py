"""Runs commands of `manage.py`, each in a fork of one process, and disturbs it at its n-th step.

A step is what Python reports to an audit hook: a file that is opened, a program that is started, a connection that is
made, a module that is imported; and each statement and commit of the database. The input has the cases.
"""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import django
from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class
from django.db import connections

from config.management import command_line
from tests.config.command_arguments import PATIENCE
from tests.config.valid_commands import ARCHIVE, QUARANTINED, USER, ours

STEPS = {
    "open", "import", "sqlite3.connect", "socket.connect", "subprocess.Popen", "os.rename", "os.mkdir", "os.remove",
    "os.link", "os.truncate",
}  # fmt: skip
UNREAD = "nobody reads"
"""The disturbance of an output that nobody reads any longer. All others are signals."""


class Steps:
    """Counts those of this thread, and does something at one of them."""

    def __init__(self, at: int, disturb: Callable[[], object]) -> None:
        self.number, self._at, self._disturb, self._thread = 0, at, disturb, threading.get_ident()

    def audit(self, event: str, _: Any) -> None:
        if event in STEPS:
            self._count()

    def execute(self, execute: Any, *statement: Any) -> Any:
        self._count()
        return execute(*statement)

    def listen(self) -> None:
        connection: Any = connections["default"]
        connection.execute_wrappers.append(self.execute)
        commit = connection._commit

        def commit_and_count() -> None:
            self._count()
            commit()
            self._count()

        connection._commit = commit_and_count
        sys.addaudithook(self.audit)

    def _count(self) -> None:
        if threading.get_ident() == self._thread:
            self.number += 1
            if self.number == self._at:
                self._disturb()


def _run(case: dict[str, Any], folder: Path) -> NoReturn:
    (folder / "stdin").write_text(case["given"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(folder / "stdin", os.O_RDONLY), 0)
    reads, writes = os.pipe()
    is_unread = case["how"] == UNREAD
    os.dup2(writes if is_unread else os.open(folder / "stdout", flags, 0o600), 1)
    os.dup2(os.open(folder / "stderr", flags, 0o600), 2)
    os.close(writes)
    os.chdir(folder / "here")
    signal.alarm(PATIENCE)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as manage.py begins
    sys.argv = ["manage.py", *case["arguments"]]
    for name, value in case["settings"].items():
        setattr(settings, name, value)
    number = 0 if is_unread or not case["how"] else signal.Signals[case["how"]]
    steps = Steps(case["at"], (lambda: os.close(reads)) if is_unread else lambda: os.kill(os.getpid(), number))
    steps.listen()
    try:
        code = command_line.run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    (folder / "steps").write_text(str(steps.number))
    sys.exit(code)


def _answer(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    for name in ("stdout", "stderr", "steps"):
        (folder / name).unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run(case, folder)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said, errors, steps = (
        path.read_bytes().decode(errors="replace") if path.exists() else ""
        for path in (folder / "stdout", folder / "stderr", folder / "steps")
    )
    return {"code": code, "said": said, "errors": errors, "steps": int(steps or 0)}


def _furnish(data: Path) -> None:
    from accounts.models import User
    from projects.models import Quarantined

    User.objects.create_user(USER, "an-earlier-passphrase")
    Quarantined.objects.create(key=QUARANTINED, instance=settings.BERTH_INSTANCE)
    call_command("backup", str(data / ARCHIVE), stdout=sys.stderr)
    connections.close_all()


def _import_commands() -> None:
    """So that most steps of a command are its own."""
    for name in ours():
        load_command_class(get_commands()[name], name)
    import_module(settings.ROOT_URLCONF)


def _in_fork(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main() -> None:
    """Each case begins with the same files. After a disturbance the command is run once more, undisturbed."""
    data = Path(os.environ["BERTH_DATA_DIR"])
    folder, kept = data.parent, data.parent / "kept"
    django.setup()
    _import_commands()
    if not kept.exists():
        _in_fork(lambda: _furnish(data))
        shutil.copytree(data, kept)
    for case in json.load(sys.stdin):
        _put_back(kept, data)
        answer = _answer(case, folder)
        left = sorted(path.name for path in data.rglob("*"))
        again = _answer(case | {"at": 0}, folder) if case["at"] and not case["serves"] else None
        sys.stdout.write(json.dumps({"case": case, **answer, "left": left, "again": again}) + "\n")
        sys.stdout.flush()
    _put_back(kept, data)  # with its keys, for the next process


def _put_back(kept: Path, data: Path) -> None:
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(kept, data)


if __name__ == "__main__":
    main()
