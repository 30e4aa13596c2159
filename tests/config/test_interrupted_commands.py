"""A signal or an output that nobody reads ends every command of `manage.py` with one sentence, at any step, and leaves
nothing half done. Generated: a new command without a line in `valid_commands.py` fails the first test.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class

from config.management.command_line import UNREAD
from config.management.interruption import AFTER_INTERRUPT, INTERRUPTED
from tests.config.answering_engine import answering_engine
from tests.config.command_arguments import SERVES
from tests.config.interrupted_commands import UNREAD as NOBODY_READS
from tests.config.test_command_arguments import environment
from tests.config.valid_commands import LINES, Line, ours
from tests.paths import ROOT
from tests.sampling import Some

__all__ = ["environment"]
pytestmark = [pytest.mark.one_database, pytest.mark.timeout(1800)]

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
OF_SERVERS = 40
"""Steps of a command that does not end by itself at which it is interrupted."""


def test_every_command_has_a_line() -> None:
    assert {line.command for line in LINES} == ours()
    words = {tuple(line.words.split()[:2]) for line in LINES}
    for name in ours():
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        for action in parser._actions:
            verbs = action.choices if isinstance(action.choices, dict) else ()
            assert {(name, verb) for verb in verbs} <= words


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[str]:
    with answering_engine(tmp_path) as address:
        yield address


def drive(cases: list[dict[str, Any]], environment: dict[str, str], engine: str) -> list[dict[str, Any]]:
    # Commands that set firewall rules do so in a separate network namespace.
    own_network = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*own_network, sys.executable, "-m", "tests.config.interrupted_commands"],
        env=environment | {"DOCKER_HOST": engine, "PYTHONUNBUFFERED": "1"}, start_new_session=True,
        input=json.dumps(cases), capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    assert len(answers) == len(cases)
    return answers


def case_of(line: Line, data: Path, engine: str, *, at: int = 0, how: str = "") -> dict[str, Any]:
    return {
        "arguments": line.arguments(data, engine), "given": line.given, "settings": dict(line.settings), "at": at,
        "how": how, "serves": line.command in SERVES and "--check" not in line.words, "expected": line.code,
        "again": [line.code, *([1] if line.works_once else [])],
    }  # fmt: skip


@pytest.mark.rare(1)
def test_an_interrupted_command_says_so_and_leaves_nothing_half_done(
    environment: dict[str, str], tmp_path: Path, engine: str, some: Some
) -> None:
    lines, data, chance = some(LINES, one_in=6), tmp_path / "var", random.Random(some.seed)
    usual = [case_of(line, data, engine) for line in lines]
    steps = {}
    for answer in drive([each for each in usual if not each["serves"]], environment, engine):
        assert answer["code"] == answer["case"]["expected"], answer
        assert "Traceback" not in answer["errors"]
        assert not answer["code"] or len(answer["errors"].splitlines()) <= 2, answer
        steps[tuple(answer["case"]["arguments"])] = answer["steps"]
    cases = [
        case | {"at": at, "how": how}
        for case in usual
        for how in (*SIGNALS, *([] if case["serves"] else [NOBODY_READS]))
        for at in chosen(steps.get(tuple(case["arguments"]), OF_SERVERS), chance, is_whole=some.is_whole)
    ]
    wrong = [answer for answer in drive(cases, environment, engine) if not is_right(answer)]
    assert wrong == [], json.dumps(wrong, indent=1)


def chosen(steps: int, chance: random.Random, *, is_whole: bool) -> list[int]:
    every = range(1, steps + 1)
    return list(every) if is_whole else chance.sample(every, min(len(every), 1))


def is_right(answer: dict[str, Any]) -> bool:
    case, code, errors, again = answer["case"], answer["code"], answer["errors"], answer["again"]
    if "Traceback" in errors or "Exception ignored" in errors or any(map(is_draft, answer["left"])):
        return False
    if again is not None and (again["code"] not in case["again"] or "Traceback" in again["errors"]):
        return False
    if code == case["expected"]:  # it ended before, or `serve` and `watch`, which end so after a signal
        return True
    if case["how"] == NOBODY_READS:
        return bool(code == UNREAD and not errors)
    if code == -signal.Signals[case["how"]]:  # before its command begins, and after its end, without a word
        return not errors or errors.endswith(f"{INTERRUPTED}\n")
    return bool(case["how"] == "SIGINT" and code == AFTER_INTERRUPT and errors.endswith(f"{INTERRUPTED}\n"))


def is_draft(name: str) -> bool:
    return name.endswith((".draft", ".new", ".restoring")) or ".replaced-" in name
