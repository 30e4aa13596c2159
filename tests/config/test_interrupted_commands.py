"""Ctrl-C ends every command of `manage.py` with one sentence, at any moment. Generated: a new command is in."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands

from config.management.command_line import AFTER_INTERRUPT, INTERRUPTED
from tests.config.command_arguments import OURS
from tests.config.test_command_arguments import environment
from tests.paths import ROOT
from tests.sampling import Some

__all__ = ["environment"]
pytestmark = [pytest.mark.one_database, pytest.mark.timeout(1800)]

EACH = 40
"""Of the first so many steps of each command, some by chance. Without an engine, most commands have fewer."""

ARGUMENTS: dict[str, list[str]] = {
    "backup": ["{data}/a.tar"], "restore": ["{data}/a.tar"], "test_type": ["assistant"], "swarm": ["status"],
    "node": ["list"], "quarantine": ["list"], "migrate_engine": ["--dry-run"], "firewall": ["--boot"],
    "uninstall": ["--yes"], "serve": ["--prepare"],
}  # fmt: skip
"""With which commands do something."""


def cases(data: Path, some: Some) -> list[tuple[list[str], int]]:
    chance = random.Random(some.seed)
    names = sorted(name for name, app in get_commands().items() if app in OURS)
    steps = range(1, EACH) if some.is_whole else chance.sample(range(1, EACH), 3)
    return [
        ([name, *(each.replace("{data}", str(data)) for each in ARGUMENTS.get(name, []))], step)
        for name in names
        for step in steps
    ]


@pytest.mark.rare(1)
def test_ctrl_c_is_one_sentence(environment: dict[str, str], tmp_path: Path, some: Some) -> None:
    chosen = cases(tmp_path / "var", some)
    own_network = ["unshare", "--net"] if os.geteuid() == 0 else []  # commands set firewall rules in it
    done = subprocess.run(
        [*own_network, sys.executable, "-m", "tests.config.interrupted_commands"],
        env=environment, input=json.dumps(chosen), capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(chosen)
    interrupted = [each for each in answers if not each[3]]
    assert len({arguments[0] for arguments, *_ in interrupted}) > 15
    assert [each for each in interrupted if not is_right(*each)] == []


def is_right(arguments: list[str], at: int, code: int, is_over: bool, said: str, errors: str) -> bool:
    """Before its command begins, it ends by the signal itself. `serve` and `watch` end as after SIGTERM."""
    if "Traceback" in said + errors:
        return False
    if code == -signal.SIGINT:
        return not errors
    if code == 0:
        return arguments[0] in {"serve", "watch"}
    return code == AFTER_INTERRUPT and errors.endswith(f"{INTERRUPTED}\n")
