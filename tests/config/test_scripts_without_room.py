"""The scripts of `config/bin` say why they end on a full disk, and when the engine's log cannot be written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.config.test_scripts import UV, machine, run_function, write_program
from tests.config.test_unset_variables import PYTHON
from tests.paths import ROOT

__all__ = ["machine"]
pytestmark = [pytest.mark.one_database, pytest.mark.timeout(60)]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")

FULL = """
mount -t tmpfs -o size=8k none {folder}
head -c 100000 /dev/zero 2>/dev/null >{folder}/filling || true
set -euo pipefail; source config/bin/common.sh
TMPDIR={folder} step 'Doing it' sh -c 'echo the reason >&2; exit 1'
"""


@needs_root
def test_a_step_whose_reason_a_full_disk_has_lost_says_so(tmp_path: Path) -> None:
    """It said “failed”, or that the lines above say why, and there were none."""
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", FULL.format(folder=tmp_path)], cwd=ROOT, env={"PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    failed, why = done.stderr.splitlines()
    assert failed == "Doing it: failed."
    assert why.startswith(f"The reason could not be kept, because the disk of {tmp_path}/")


def test_a_step_whose_reason_is_shown_says_no_more(machine: Path) -> None:
    write_program(machine / "tools/fails", "#!/bin/sh\necho the reason\nexit 1\n")
    done = run_function(machine, "step 'Doing it' fails")
    assert done.stderr == "the reason\nDoing it: failed.\n"


def test_an_engine_that_ended_without_a_log_is_told_at_once(machine: Path) -> None:
    """The script waited for a minute."""
    done = run_function(machine, "engine_answers() { false; }; : & wait; wait_for_engine $! nowhere/dockerd.log")
    assert done.returncode == 1
    assert done.stderr.endswith("The Docker engine ended. Its log is nowhere/dockerd.log.\n")


@needs_root
@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd would start the engine")
def test_an_engine_whose_log_cannot_be_written_is_not_started(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config/bin", tmp_path / "config/bin")
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    write_program(tmp_path / ".venv/bin/python", PYTHON.replace("echo forbidden", "echo silent"))
    write_program(tmp_path / ".venv/bin/uv", f'#!/bin/sh\necho "uv {UV}"\n')
    write_program(tmp_path / "tools/dockerd", "#!/bin/sh\ntouch started\n")
    (tmp_path / "var/dockerd.log").mkdir(parents=True)
    done = subprocess.run(
        [tmp_path / "config/bin/run", "--all"], cwd=tmp_path, env={"PATH": f"{tmp_path}/tools:/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"The engine's log {tmp_path}/var/dockerd.log cannot be written.")
    assert not (tmp_path / "started").exists()
