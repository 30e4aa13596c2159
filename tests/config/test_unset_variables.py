"""Each script of `config/bin` runs in a shell that lacks the variables that shells usually have."""

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.config.test_scripts import UV, write_program
from tests.paths import ROOT

SCRIPTS = {
    "check-release": "v0", "check-settings": "", "install-service": "--print", "manage": "version", "run": "--all",
    "sbom": "", "test": "x", "uninstall": "--dry-run", "uninstall-service": "", "upgrade": "",
}  # fmt: skip
"""The scripts, each with an option with which it does little."""

USUAL = {
    "HOME": "/nowhere", "LANG": "C.UTF-8", "LOGNAME": "root", "SHELL": "/bin/sh", "TERM": "xterm", "TMPDIR": "/tmp",
    "USER": "root", "XDG_CACHE_HOME": "/nowhere/cache", "XDG_CONFIG_HOME": "/nowhere/config",
}  # fmt: skip
OF_BASH = {"BASH_SOURCE", "EPOCHREALTIME", "EUID", "IFS", "PATH", "PWD", "SECONDS"}
"""Variables that bash itself sets."""

PYTHON = """#!/bin/sh
case "$*" in
-V) echo Python 3.11.2 ;;
-) echo forbidden ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose engine may not be used."""
    for folder in ("config/bin", "config/systemd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in ("CHANGELOG.md", "Dockerfile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    write_program(tmp_path / ".venv/bin/python", PYTHON)
    write_program(tmp_path / ".venv/bin/uv", f'#!/bin/sh\necho "uv {UV}"\n')
    (tmp_path / "system").mkdir()
    return tmp_path


def run(checkout: Path, script: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [str(checkout / "config/bin" / script), *SCRIPTS[script].split()]
    environment = {"PATH": "/usr/bin:/bin", "DESTDIR": "system", **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_every_script_is_tried() -> None:
    assert set(SCRIPTS) == {path.name for path in (ROOT / "config/bin").iterdir() if not path.suffix}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("script", "unset"), [*product(SCRIPTS, [*USUAL, "all"])])
def test_a_script_needs_no_variable_of_the_shell(checkout: Path, script: str, unset: str) -> None:
    given = {name: value for name, value in USUAL.items() if unset not in (name, "all")}
    done = run(checkout, script, given)
    assert "unbound variable" not in done.stderr


def test_who_may_not_use_docker_is_told_how_without_user_in_the_shell(checkout: Path) -> None:
    done = run(checkout, "run", {})
    name = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"Join its group (sudo usermod -aG docker {name}) and sign in again." in done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "config/bin").iterdir()), ids=lambda path: path.name)
def test_every_other_variable_has_a_default_or_is_set_by_the_scripts(path: Path) -> None:
    scripts = {each.name: each.read_text() for each in path.parent.iterdir()}
    text = re.sub(r"(?m)^\s*#.*$|'[^']*'", "", scripts[path.name])
    used = set(re.findall(r"\$([A-Z][A-Z0-9_]*)", text)) | set(re.findall(r"\$\{([A-Z][A-Z0-9_]*)[^A-Z0-9_:+-]", text))
    guarded = set(re.findall(r"\$\{([A-Z][A-Z0-9_]*):?[-+]", text))
    assigned = {name for each in scripts.values() for name in re.findall(r"\b([A-Z][A-Z0-9_]*)=", each)}
    assert used - guarded - assigned <= OF_BASH
