"""Each script of `config/bin` finds the data where Berth itself does, in all ways to say where it is."""

import os
import pwd
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from config.environment import env
from tests.config.test_scripts import UV, write_program
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

PYTHON = """#!/bin/sh
case "$*" in
-V) echo Python 3.11.2 ;;
-) echo forbidden ;;
-*) ;;
*) echo "$2" >>said; env -0 >environment ;;
esac
"""

VALUES = {
    "default": "", "absolute": "{top}/a data", "relative": "below/data", "dots": "./below/../data", "end": "data/",
    "home": "~", "below home": "~/x/data", "of a user": "~root/data", "with spaces": "~/a  b", "around": "  data ",
    "tilde inside": "a/~/b", "dollar": "$HOME/x",
}  # fmt: skip
PLACES = ("shell", "checkout", "service")
FORMS = ("value", "file", "file of the checkout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout, with a home directory and, below `system`, a service's settings."""
    for folder in ("config/bin", "config/systemd"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    write_program(tmp_path / ".venv/bin/python", PYTHON)
    write_program(tmp_path / ".venv/bin/uv", f'#!/bin/sh\necho "uv {UV}"\n')
    for folder in ("system/etc/berth", "var", "home"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def set_directory(checkout: Path, value: str, form: str, place: str) -> dict[str, str]:
    """Sets it in this form in this place. Returns the variables of the shell."""
    name = "BERTH_DATA_DIR"
    if form != "value":
        (checkout / "where").write_text(f"{value}\n")
        name, value = "BERTH_DATA_DIR_FILE", "where" if form == "file of the checkout" else f"{checkout}/where"
    shell = {"HOME": str(checkout / "home"), "PATH": "/usr/bin:/bin", "DESTDIR": "system", "LANG": "C.UTF-8"}
    if place == "shell":
        return shell | {name: value}
    file = checkout / {"checkout": "var/berth.env", "service": "system/etc/berth/environment"}[place]
    file.write_text(f'{name}="{value.replace("$", chr(92) + "$")}"\n')
    return shell


def run(checkout: Path, script: str, shell: dict[str, str], *options: str) -> "subprocess.CompletedProcess[str]":
    command = [str(checkout / "config/bin" / script), *options]
    return subprocess.run(
        command, env=shell, cwd="/", capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )


def found_by_berth(checkout: Path, shell: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that Berth finds, as a process that has these variables and runs in the checkout."""
    with monkeypatch.context() as patch:
        patch.chdir(checkout)
        for name in ("BERTH_DATA_DIR", "BERTH_DATA_DIR_FILE", "HOME"):
            patch.delenv(name, raising=False)
            if name in shell:
                patch.setenv(name, shell[name])
        return env.directory("BERTH_DATA_DIR", checkout / "var")


CASES = [
    (value, form, place)
    for value, form, place in product(VALUES, FORMS, PLACES)
    if value != "around" or form != "value" or place == "shell"
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("value", "form", "place"), CASES)
def test_every_script_finds_the_data_where_berth_does(
    value: str, form: str, place: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = set_directory(checkout, VALUES[value].format(top=checkout), form, place)
    if value == "of a user" and os.geteuid():
        pytest.skip("only root may look there")
    done = run(checkout, "manage", shell, "version")
    assert done.returncode == 0, done.stderr
    received = dict(
        each.split("=", 1) for each in (checkout / "environment").read_text().rstrip("\0").split("\0") if "=" in each
    )
    expected = found_by_berth(checkout, received, monkeypatch)
    said = run(checkout, "install-service", shell, "--print")
    # systemd takes the home directory of the unit's user from the list of users.
    owner = {"HOME": pwd.getpwuid(checkout.stat().st_uid).pw_dir}
    of_unit = os.path.realpath(found_by_berth(checkout, received | owner, monkeypatch))
    if re.fullmatch("[A-Za-z0-9/._+-]+", of_unit):
        assert f"ReadWritePaths=/run -{of_unit}\n" in said.stdout, said.stderr
    else:
        assert "A unit of systemd cannot name" in said.stderr
    script = "source config/bin/common.sh; source config/bin/service.sh; export_settings; data_directory"
    told = subprocess.run(["bash", "-c", script], cwd=checkout, env=shell, capture_output=True, text=True, check=True)
    assert Path(told.stdout) == expected
    (checkout / "said").unlink()
    is_there = expected.is_dir() and (expected / "berth.sqlite3").exists()
    assert ("has no database here" in run(checkout, "uninstall", shell, "--dry-run").stdout) == (not is_there)
    if expected.is_relative_to(checkout):
        expected.mkdir(parents=True, exist_ok=True)
        for name in ("berth.sqlite3", "static.digest"):
            (expected / name).touch()
        assert run(checkout, "uninstall", shell, "--dry-run").stdout == ""
        assert (checkout / "said").read_text() == "uninstall\n"
        if place != "service":
            assert "You may not use Docker here" in run(checkout, "run", shell, "--all").stderr
            assert (checkout / "said").read_text() == "uninstall\n", "It did not prepare again what is prepared."


@pytest.mark.parametrize("script", ["run", "uninstall", "install-service"])
@pytest.mark.parametrize("place", PLACES[:2])
def test_a_directory_that_is_set_twice_is_refused_as_berth_does(checkout: Path, script: str, place: str) -> None:
    shell = set_directory(checkout, "data", "file", place) | {"BERTH_DATA_DIR": "data"}
    done = run(checkout, script, shell, "--print" if script == "install-service" else "--dry-run")
    assert (done.returncode, done.stderr) == (
        1, "BERTH_DATA_DIR and BERTH_DATA_DIR_FILE are both set. Keep one of them.\n",
    )  # fmt: skip


@pytest.mark.parametrize("script", ["run", "uninstall", "install-service"])
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"BERTH_DATA_DIR_FILE": "/nowhere/file"}, "BERTH_DATA_DIR_FILE names a file that cannot be read."),
        ({"BERTH_DATA_DIR_FILE": "/etc"}, "BERTH_DATA_DIR_FILE names a file that cannot be read."),
        ({"BERTH_DATA_DIR": "~nobody-has-this/x"}, "nobody has that home directory. Write the whole path."),
    ],
)
def test_a_directory_that_cannot_be_found_is_reported_in_a_sentence(
    checkout: Path, script: str, variables: dict[str, str], said: str
) -> None:
    shell = {"PATH": "/usr/bin:/bin", "DESTDIR": "system", **variables}
    done = run(checkout, script, shell, "--print" if script == "install-service" else "--dry-run")
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (checkout / "said").exists()
