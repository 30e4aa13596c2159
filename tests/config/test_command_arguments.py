"""No argument of any command causes a traceback or damage. Generated: a new command or argument is included."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.serving.served import prepared
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.sampling import Some

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal does not show but obeys."""

pytestmark = [pytest.mark.one_database, pytest.mark.every_case, pytest.mark.timeout(1800)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An installation whose engine does not answer, next to the folder in which the commands run."""
    (tmp_path / "here").mkdir()
    copy_migrated(tmp_path / "var")
    for path in prepared().iterdir():
        if path.suffix == ".key":
            (tmp_path / "var" / path.name).write_bytes(path.read_bytes())
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {
        "BERTH_DATA_DIR": str(tmp_path / "var"), "BERTH_INSTANCE": "arguments", "PYTHONPATH": str(ROOT),
        "DOCKER_HOST": f"unix://{tmp_path}/no.sock", "DJANGO_SETTINGS_MODULE": "config.settings",
    }  # fmt: skip


def run(environment: dict[str, str], *arguments: str, given: str = "") -> str:
    command = [sys.executable, "-m", "tests.config.command_arguments", *arguments]
    # Commands that set firewall rules do so in a separate network namespace.
    own_network = ["unshare", "--net"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*own_network, *command], env=environment, input=given, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def kept_files(data: Path) -> dict[str, str]:
    """The key files, and the beginning of the database."""
    paths = [*data.glob("*.key"), data / "berth.sqlite3"]
    return {path.name: hashlib.sha256(path.read_bytes()[:16]).hexdigest() for path in paths}


@pytest.mark.rare(1)
def test_a_bad_argument_is_a_sentence_and_costs_nothing(
    environment: dict[str, str], tmp_path: Path, some: Some
) -> None:
    chosen = some(json.loads(run(environment, "list")), one_in=16)
    before = kept_files(tmp_path / "var")
    answers = [json.loads(line) for line in run(environment, given=json.dumps(chosen)).splitlines()]
    assert len(answers) == len(chosen) > 20
    wrong = [
        (arguments, code, said[-500:] + errors[-1500:])
        for arguments, code, said, errors in answers
        if code not in {0, 1, 2}
        or "Traceback" in said + errors
        or (code and not (said + errors).strip())
        or OBEYED.search(said + errors)
    ]
    assert wrong == []
    assert kept_files(tmp_path / "var") == before


@pytest.mark.rare(1)
def test_a_damaged_database_is_a_sentence(environment: dict[str, str], tmp_path: Path) -> None:
    for path in (tmp_path / "var").glob("berth.sqlite3*"):
        path.unlink()
    (tmp_path / "var/berth.sqlite3").write_bytes(b"no database" * 1000)
    commands = [
        ["ensure_admin"],
        ["migrate"],
        ["prepare", "--while-serving"],
        ["rotate_secrets"],
        ["backup"],
        ["reconcile"],
    ]
    for line in run(environment, given=json.dumps(commands)).splitlines():
        arguments, code, _, errors = json.loads(line)
        assert code == 1, (arguments, errors)
        assert errors.count("\n") <= 2, (arguments, errors)
        assert "Traceback" not in errors
        assert "database" in errors
