"""Runs commands of `manage.py` with each case from its input, in forks of a process that has read the settings."""

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import django
from django.core.management import get_commands, load_command_class

from config.management import command_line

OURS = ("accounts", "config", "containers", "projects")
PATIENCE = 120
"""Seconds after which a command counts as hanging."""

BAD = (
    "", " ", "nonsense", "\udcff", "-1", "0", "9" * 300, "a\nb", "../../..", "/dev/null", "/", "/proc/self/mem",
    "/dev/null/x", "~", "%s", "{}", "é", "A" * 300, "nan", "-inf", "1e999", "file://x", ",", "$(id)", "0.0.0.0",
    "999.1.1.1", "[::1", "--", "\x1b[2J", "\x9b2J",
    "{data}", "{data}/berth.sqlite3", "{data}/encryption_keys.key", "default", "--nope", "*",
)  # fmt: skip
SERVES = {"serve", "watch"}
"""Commands that do not end by themselves. They are tried with arguments that they do not have."""


def cases() -> Iterator[list[str]]:
    """Each command alone, and with each bad value for each of its arguments, while the others have plausible ones."""
    for name, app in sorted(get_commands().items()):
        if app in OURS:
            if name not in SERVES:
                yield [name]
            yield from _cases_of(load_command_class(app, name).create_parser("manage.py", name), [name])


def _cases_of(parser: argparse.ArgumentParser, before: list[str]) -> Iterator[list[str]]:
    actions = [each for each in parser._actions if each.nargs != 0 and _is_ours(each)]
    yield from ([*before, extra] for extra in ("--nope", "--nope=x", "extra"))
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ([*before, value] for value in BAD)
            for name, inner in action.choices.items():
                yield from _cases_of(inner, [*before, name])
        else:
            option = action.option_strings[:1]
            others = ["something" for each in actions if each is not action and not each.option_strings]
            yield from ([*before, *([f"{option[0]}={value}"] if option else [value]), *others] for value in BAD)


def _is_ours(action: argparse.Action) -> bool:
    """Whether the option is not one that Django gives to every command."""
    return not {"--settings", "--pythonpath", "--verbosity"} & set(action.option_strings)


def _run(arguments: list[str], folder: Path) -> NoReturn:
    for number, name in enumerate(("stdout", "stderr"), 1):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.chdir(folder / "here")
    signal.alarm(PATIENCE)
    sys.argv, code = ["manage.py", *arguments], 0
    try:
        code = command_line.run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - the traceback is the finding
        traceback.print_exc()
        code = 99
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main() -> None:
    folder = Path(os.environ["BERTH_DATA_DIR"]).parent
    django.setup()
    if sys.argv[1:] == ["list"]:
        sys.stdout.write(json.dumps(list(cases())))
        return
    for arguments in json.load(sys.stdin):
        child = os.fork()
        if child == 0:
            _run([each.replace("{data}", os.environ["BERTH_DATA_DIR"]) for each in arguments], folder)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [(folder / name).read_bytes().decode(errors="replace") for name in ("stdout", "stderr")]
        sys.stdout.write(json.dumps([arguments, code, *said]) + "\n")
        sys.stdout.flush()  # the next child would write it among its own output


if __name__ == "__main__":
    main()
